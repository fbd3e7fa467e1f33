//! How many cores a rank may use beside the others of its machine.

use crate::error::Result;
use crate::group::Group;

/// The cores of this rank: those that the system lets it run on, shared with the ranks that may run on the same ones.
/// `mpirun` binds ranks to cores of their own where there are enough.
pub fn core_share(group: &Group) -> Result<usize> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let mine = format!("{} {}", group.membership().host, allowed());
    let beside = group.all_texts(&mine)?.iter().filter(|other| **other == mine).count();
    Ok((cores / beside.max(1)).max(1))
}

/// Which cores this process may run on, as the system writes it; the same for all where it does not say.
fn allowed() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap_or_default().trim().into()
}
