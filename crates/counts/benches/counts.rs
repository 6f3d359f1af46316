//! The functions that are counted.
//!
//! What they are given is made before the count begins, and what they return is dropped after its
//! end.

#![expect(
    missing_docs,
    unused_qualifications,
    reason = "gungraun's macros write items around the functions"
)]

use std::hint::black_box;

use gungraun::{
    Callgrind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use pointsman_counts::body::{self, Request, Text};
use pointsman_counts::page;
use pointsman_counts::response::{self, Chunk, Exchange};
use pointsman_counts::warm::{self, Moment};
use pointsman_domain::block::{BlockKey, BlockSize};
use pointsman_domain::facts::RequestFacts;
use pointsman_domain::load::EngineSample;
use pointsman_extproc::stream::{Action, Stream};
use pointsman_pipeline::pool::{Output, Pool};
use pointsman_request::read::{self, Reading};
use pointsman_request::rejection::Rejection;
use pointsman_telemetry::engines::Engine;
use pointsman_telemetry::mapping::Mapping;
use static_alloc::Bump;

// Counts how a body becomes facts: its pieces are joined if there are several, read and hashed.
#[library_benchmark]
#[bench::chat_1_kib(fresh(|| body::chat(1024, Text::Plain)))]
#[bench::chat_16_kib(fresh(|| body::chat(16 * 1024, Text::Plain)))]
#[bench::chat_128_kib(fresh(|| body::chat(128 * 1024, Text::Plain)))]
#[bench::escaped_16_kib(fresh(|| body::chat(16 * 1024, Text::Escaped)))]
fn body_to_facts(request: Request) -> (Result<Reading, Rejection>, Request) {
    let facts = read::with_body(&request.head, &request.body, BlockSize::DEFAULT);
    (black_box(facts), request)
}

// Counts how the keys of the most blocks that a prompt may have are chained from their hashes.
#[library_benchmark]
#[bench::blocks_2048(fresh(|| warm::facts(&body::chat(640 * 1024, Text::Plain))))]
fn block_keys(facts: RequestFacts) -> (Vec<BlockKey>, RequestFacts) {
    (black_box(facts.block_keys(facts.model.name())), facts)
}

// Counts one decision of the default profile: the keys, their lookup in a warm prefix index, the
// scores, the pick and its reservation. The server does this while it holds the pool's lock.
#[library_benchmark]
#[bench::endpoints_8(fresh(|| warm::before_offer(8)))]
#[bench::endpoints_256(fresh(|| warm::before_offer(256)))]
fn pool_offer(moment: Moment) -> (Box<Pool>, Vec<Output>) {
    moment.take()
}

// Counts the end of a request, which gives its reservation back.
#[library_benchmark]
#[bench::endpoints_8(fresh(|| warm::before_end(8)))]
#[bench::endpoints_256(fresh(|| warm::before_end(256)))]
fn pool_end(moment: Moment) -> (Box<Pool>, Vec<Output>) {
    moment.take()
}

// Counts how a chunk of a response is passed on in duplex mode, and read if it is of an event stream.
#[library_benchmark]
#[bench::opaque(fresh(|| response::before_chunk(Chunk::Opaque)))]
#[bench::token(fresh(|| response::before_chunk(Chunk::Token)))]
#[bench::usage(fresh(|| response::before_chunk(Chunk::Usage)))]
fn response_chunk(exchange: Exchange) -> (Box<Stream>, Vec<Action>) {
    let Exchange {
        mut stream,
        message,
        mut actions,
    } = exchange;
    stream.message(message, &mut actions);
    (stream, actions)
}

// Counts how a metrics page becomes a load sample.
#[library_benchmark]
#[bench::vllm(fresh(|| (mapping(), page::vllm(1))))]
fn metrics_page((mapping, page): (Mapping, Vec<u8>)) -> (EngineSample, Mapping, Vec<u8>) {
    (black_box(mapping.read(&page, None)), mapping, page)
}

/// The reader of vLLM pages.
fn mapping() -> Mapping {
    Mapping::new(&Engine::Vllm.names())
}

/// Makes an input from the beginning of a page of memory on, so that it lies the same way in every
/// run: what was allocated before has the length of this program's path.
fn fresh<T>(make: impl FnOnce() -> T) -> T {
    #[repr(align(4096))]
    struct Page([u8; 4096]);

    black_box(Box::new(Page([0; 4096])).0);
    make()
}

/// Gives memory in the order in which it is asked for and takes none back. What any other allocator
/// does, and so its count, depends on all that was allocated before.
#[global_allocator]
static MEMORY: Bump<[u8; MEMORY_BYTES_MAX]> = Bump::uninit();

/// Several times what the largest input takes. Beyond it the program ends.
const MEMORY_BYTES_MAX: usize = 512 << 20;

/// Lets the C library copy and compare memory as on the oldest x86-64 processors. What it would
/// choose depends on the machine, and callgrind counts each byte that a string instruction moves.
const OLDEST_PROCESSOR: &str =
    "glibc.cpu.hwcaps=-SSSE3,-SSE4_1,-SSE4_2,-AVX,-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM";

library_benchmark_group!(
    name = hot_functions,
    benchmarks = [
        body_to_facts,
        block_keys,
        pool_offer,
        pool_end,
        response_chunk,
        metrics_page
    ]
);

main!(
    config = LibraryBenchmarkConfig::default()
        // Instructions are all that is stored; to simulate caches would cost time.
        .tool(Callgrind::with_args(["--cache-sim=no"]))
        .env("GLIBC_TUNABLES", OLDEST_PROCESSOR),
    library_benchmark_groups = hot_functions
);
