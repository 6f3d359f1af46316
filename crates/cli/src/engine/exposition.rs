//! The metrics page, with vLLM's names, types, texts and labels.

use core::fmt::{self, Write as _};

use pointsman_engine::config::EngineConfig;

use super::driver::Snapshot;

/// A metrics page.
pub(crate) struct Page<'a> {
    pub(crate) model: &'a str,
    pub(crate) config: &'a EngineConfig,
    pub(crate) snapshot: Snapshot,
    /// When the engine started, as Unix time in seconds.
    pub(crate) start_seconds: f64,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = &self.snapshot.stats;
        let totals = &stats.totals;
        let gauges = [
            (
                "vllm:num_requests_running",
                "Number of requests in model execution batches.",
                stats.running as f64,
            ),
            (
                "vllm:num_requests_waiting",
                "Number of requests waiting to be processed.",
                stats.waiting as f64,
            ),
            (
                "vllm:kv_cache_usage_perc",
                "KV-cache usage. 1 means 100 percent usage.",
                stats.kv_usage.value(),
            ),
        ];
        let counters = [
            (
                "vllm:prefix_cache_queries_total",
                "Prefix cache queries, in terms of number of queried tokens.",
                totals.prefix_query_tokens,
            ),
            (
                "vllm:prefix_cache_hits_total",
                "Prefix cache hits, in terms of number of cached tokens.",
                totals.prefix_hit_tokens,
            ),
            (
                "vllm:num_preemptions_total",
                "Cumulative number of preemption from the engine.",
                totals.preemptions,
            ),
            (
                "vllm:prompt_tokens_total",
                "Number of prefill tokens processed.",
                totals.prompt_tokens,
            ),
            (
                "vllm:generation_tokens_total",
                "Number of generation tokens processed.",
                totals.generation_tokens,
            ),
        ];
        for (name, help, value) in gauges {
            self.family(f, name, ("gauge", help))?;
            self.sample(f, name, "", value)?;
        }
        for (name, help, value) in counters {
            self.family(f, name, ("counter", help))?;
            self.sample(f, name, "", value as f64)?;
        }
        self.write_ended(f)?;
        self.write_cache_config(f)?;
        let name = "process_start_time_seconds";
        let help = "Start time of the process since unix epoch in seconds.";
        self.family(f, name, ("gauge", help))?;
        writeln!(f, "{name} {:?}", self.start_seconds)
    }
}

impl Page<'_> {
    fn write_ended(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = "vllm:request_success_total";
        let help = "Count of successfully processed requests.";
        self.family(f, name, ("counter", help))?;
        let ended = &self.snapshot.ended;
        // vLLM counts aborted requests here as well.
        for (reason, count) in [
            ("stop", ended.stop),
            ("length", ended.length),
            ("abort", ended.abort),
        ] {
            let label = format!("finished_reason=\"{reason}\",");
            self.sample(f, name, &label, count as f64)?;
        }
        Ok(())
    }

    fn write_cache_config(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = "vllm:cache_config_info";
        self.family(
            f,
            name,
            ("gauge", "Information of the LLMEngine CacheConfig"),
        )?;
        writeln!(
            f,
            "{name}{{block_size=\"{}\",enable_prefix_caching=\"True\",engine=\"0\",\
             num_gpu_blocks=\"{}\"}} 1.0",
            self.config.block_size.tokens().0,
            self.config.blocks,
        )
    }

    fn family(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        (kind, help): (&str, &str),
    ) -> fmt::Result {
        writeln!(f, "# HELP {name} {help}\n# TYPE {name} {kind}")
    }

    /// One sample; `label` stands between `engine` and `model_name`, as labels are sorted.
    fn sample(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        label: &str,
        value: f64,
    ) -> fmt::Result {
        write!(f, "{name}{{engine=\"0\",{label}model_name=\"")?;
        for letter in self.model.chars() {
            match letter {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                letter => f.write_char(letter)?,
            }
        }
        writeln!(f, "\"}} {value:?}")
    }
}

#[cfg(test)]
mod tests;
