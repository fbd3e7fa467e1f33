//! What the libraries say through `tracing`, on stderr: their warnings, and what `FARAD_DEBUG` asks for.

use std::fmt::Result;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::look::{self, DOUBTFUL, FAINT, paint};

/// Shows warnings of the libraries, and what `FARAD_DEBUG` asks for.
pub fn subscribe() {
    let targets = ["farad::plan", "farad::passes", "farad::wgsl", "farad::time"];
    let asked = targets.map(|target| (target, LevelFilter::INFO));
    let shown = Targets::new().with_default(LevelFilter::WARN).with_targets(asked);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(anstream::stderr)
        .with_ansi(look::colored_errors())
        .event_format(LogLines)
        // A closed stderr is no reason to stop.
        .log_internal_errors(false);
    tracing_subscriber::registry().with(lines).with(shown).init();
    if let Some(fault) = &farad::ENVIRONMENT.unknown_fault {
        look::warn(format!(
            "environment: FARAD_FAULT does not take `{fault}`\nhelp: it takes lose-device:N or memory:BYTES, for tests"
        ));
    }
    for word in &farad::ENVIRONMENT.unknown_debug {
        look::warn(format!(
            "environment: FARAD_DEBUG does not know `{word}`\nhelp: it knows plan, passes, wgsl, time and nan"
        ));
    }
}

/// Warnings look as the command's own do; everything else names where it comes from.
struct LogLines;

impl<S, N> FormatEvent<S, N> for LogLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> Result {
        match *event.metadata().level() {
            Level::WARN | Level::ERROR => write!(writer, "{} ", paint(DOUBTFUL.bold(), "warning:"))?,
            _ => write!(writer, "{} ", paint(FAINT, format!("{}:", event.metadata().target())))?,
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}
