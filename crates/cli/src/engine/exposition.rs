//! The metrics page, with vLLM's names, types, texts and labels.

use core::fmt;

use pointsman_engine::config::EngineConfig;

use super::driver::Snapshot;

use self::lines::Lines;

mod lines;

/// A metrics page.
pub(crate) struct Page<'a> {
    pub(crate) model: &'a str,
    pub(crate) config: &'a EngineConfig,
    pub(crate) snapshot: &'a Snapshot,
    /// When the engine started, as Unix time in seconds.
    pub(crate) start_seconds: f64,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Lines::new(f, self.model);
        self.write_gauges(&mut lines)?;
        self.write_counters(&mut lines)?;
        self.write_ended(&mut lines)?;
        self.write_times(&mut lines)?;
        self.write_lengths(&mut lines)?;
        self.write_adapters(&mut lines)?;
        self.write_cache_config(&mut lines)?;
        let name = "process_start_time_seconds";
        let help = "Start time of the process since unix epoch in seconds.";
        lines.family(name, "gauge", help)?;
        lines.sample(name, &[], self.start_seconds)
    }
}

impl Page<'_> {
    fn write_gauges(&self, lines: &mut Lines<'_>) -> fmt::Result {
        let stats = &self.snapshot.stats;
        lines.single(
            "vllm:num_requests_running",
            "gauge",
            "Number of requests in model execution batches.",
            stats.running as f64,
        )?;
        lines.single(
            "vllm:num_requests_waiting",
            "gauge",
            "Number of requests waiting to be processed.",
            stats.waiting as f64,
        )?;
        let name = "vllm:num_requests_waiting_by_reason";
        let help = "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for \
                    scheduling capacity; 'deferred' = deferred by transient constraints (LoRA \
                    budget, KV transfer, blocked status). Sum of all reasons equals \
                    vllm:num_requests_waiting.";
        lines.family(name, "gauge", help)?;
        let capacity = stats.waiting - stats.deferred;
        lines.of_model(name, &[("reason", "capacity")], capacity as f64)?;
        lines.of_model(name, &[("reason", "deferred")], stats.deferred as f64)?;
        lines.single(
            "vllm:kv_cache_usage_perc",
            "gauge",
            "KV-cache usage. 1 means 100 percent usage.",
            stats.kv_usage.value(),
        )
    }

    fn write_counters(&self, lines: &mut Lines<'_>) -> fmt::Result {
        let totals = &self.snapshot.stats.totals;
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
        for (name, help, value) in counters {
            lines.single(name, "counter", help, value as f64)?;
        }
        Ok(())
    }

    fn write_ended(&self, lines: &mut Lines<'_>) -> fmt::Result {
        let name = "vllm:request_success_total";
        lines.family(name, "counter", "Count of successfully processed requests.")?;
        let ended = &self.snapshot.measures.ended;
        // vLLM counts aborted requests here as well.
        for (reason, count) in [
            ("stop", ended.stop),
            ("length", ended.length),
            ("abort", ended.abort),
        ] {
            lines.of_model(name, &[("finished_reason", reason)], count as f64)?;
        }
        Ok(())
    }

    fn write_times(&self, lines: &mut Lines<'_>) -> fmt::Result {
        let measures = &self.snapshot.measures;
        let histograms = [
            (
                "vllm:time_to_first_token_seconds",
                "Histogram of time to first token in seconds.",
                &measures.time_to_first_token,
            ),
            (
                "vllm:inter_token_latency_seconds",
                "Histogram of inter-token latency in seconds.",
                &measures.inter_token_latency,
            ),
            (
                "vllm:request_time_per_output_token_seconds",
                "Histogram of time_per_output_token_seconds per request.",
                &measures.time_per_output_token,
            ),
            (
                "vllm:e2e_request_latency_seconds",
                "Histogram of e2e request latency in seconds.",
                &measures.latency,
            ),
            (
                "vllm:request_queue_time_seconds",
                "Histogram of time spent in WAITING phase for request.",
                &measures.queue_time,
            ),
            (
                "vllm:request_inference_time_seconds",
                "Histogram of time spent in RUNNING phase for request.",
                &measures.inference_time,
            ),
            (
                "vllm:request_prefill_time_seconds",
                "Histogram of time spent in PREFILL phase for request.",
                &measures.prefill_time,
            ),
            (
                "vllm:request_decode_time_seconds",
                "Histogram of time spent in DECODE phase for request.",
                &measures.decode_time,
            ),
        ];
        for (name, help, histogram) in histograms {
            lines.histogram(name, help, histogram)?;
        }
        Ok(())
    }

    fn write_lengths(&self, lines: &mut Lines<'_>) -> fmt::Result {
        let measures = &self.snapshot.measures;
        let prompts = &measures.prompt_tokens;
        let help = "Number of prefill tokens processed.";
        lines.histogram("vllm:request_prompt_tokens", help, prompts)?;
        let outputs = &measures.generation_tokens;
        let help = "Number of generation tokens processed.";
        lines.histogram("vllm:request_generation_tokens", help, outputs)
    }

    fn write_adapters(&self, lines: &mut Lines<'_>) -> fmt::Result {
        let Some(slots) = self.config.adapters else {
            return Ok(());
        };
        let name = "vllm:lora_requests_info";
        lines.family(name, "gauge", "Running stats on lora requests.")?;
        let slots = slots.slots.to_string();
        for series in self.snapshot.lora_info.series() {
            let labels = [
                ("max_lora", slots.as_str()),
                ("running_lora_adapters", &series.running),
                ("waiting_lora_adapters", &series.waiting),
            ];
            lines.sample(name, &labels, series.seen_seconds)?;
        }
        Ok(())
    }

    fn write_cache_config(&self, lines: &mut Lines<'_>) -> fmt::Result {
        let name = "vllm:cache_config_info";
        lines.family(name, "gauge", "Information of the LLMEngine CacheConfig")?;
        let labels = [
            ("block_size", self.config.block_size.tokens().0.to_string()),
            ("enable_prefix_caching", "True".to_owned()),
            ("engine", "0".to_owned()),
            ("num_gpu_blocks", self.config.blocks.to_string()),
        ];
        let labels = labels
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        lines.sample(name, &labels, 1.0)
    }
}

#[cfg(test)]
mod tests;
