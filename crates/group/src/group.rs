//! One rank's view of all ranks.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::calls::{Calls, Underway};
use crate::collective::{self, Combine, MeanPart, WireFormat};
use crate::engine::{GroupEngine, Membership};
use crate::error::{GroupError, Result};
use crate::numbers::Summable;
use crate::threads::{Rendezvous, ThreadEngine};
use farad_tensor::ENVIRONMENT;

/// Ranks that train together, as one of them sees it. A clone is the same rank.
///
/// Every rank makes the same calls in the same order; a call returns when all ranks that it needs have made it. In a group
/// of one all calls return at once.
#[derive(Clone)]
pub struct Group(Arc<GroupMember>);

/// One rank.
struct GroupMember {
    /// No two ranks of a process have the same.
    identity: u64,
    membership: Membership,
    /// The machines of all ranks.
    hosts: Vec<String>,
    /// None in a group of one.
    calls: Option<Calls>,
    /// Where ranks that are threads meet.
    rendezvous: Option<Arc<Rendezvous>>,
}

impl Drop for GroupMember {
    fn drop(&mut self) {
        // Others must not wait for a rank that is unwinding.
        if let Some(rendezvous) = self.rendezvous.as_ref().filter(|_| std::thread::panicking()) {
            rendezvous.leave(self.membership.rank, "it panicked");
        }
    }
}

impl Group {
    /// All processes that `mpirun` or `srun` started together; a group of one if this one was started alone. There is one
    /// world per process: ask once, and clone it.
    ///
    /// ```
    /// use farad_group::Group;
    /// let group = Group::world()?;
    /// assert_eq!((group.rank(), group.size()), (0, 1));
    /// # Ok::<(), farad_group::Error>(())
    /// ```
    pub fn world() -> Result<Group> {
        match ENVIRONMENT.ranks {
            Some(ranks) if ranks > 1 => world_of(ranks),
            _ => Ok(Group::alone()),
        }
    }

    /// A group of one.
    pub fn alone() -> Group {
        let host = "this machine".to_string();
        let membership = Membership { rank: 0, size: 1, local_rank: 0, local_size: 1, host: host.clone() };
        Group(Arc::new(GroupMember {
            membership,
            hosts: vec![host],
            calls: None,
            rendezvous: None,
            identity: identity(),
        }))
    }

    /// So many ranks that are threads of this process: one handle each, to be given to its thread.
    pub fn threads(size: usize) -> Result<Vec<Group>> {
        match size {
            0 => return Err(GroupError::Empty.into()),
            1 => return Ok(vec![Group::alone()]),
            _ => {}
        }
        let rendezvous = Rendezvous::new(size);
        let mut ranks = Vec::with_capacity(size);
        for rank in 0..size {
            let host = "this process".to_string();
            let membership =
                Membership { rank, size, local_rank: rank, local_size: size, host: host.clone() };
            let engine = ThreadEngine::new(rendezvous.clone(), membership);
            let (calls, membership) = Calls::start(Box::new(move || Ok(Box::new(engine))))?;
            let (hosts, rendezvous) = (vec![host; size], Some(rendezvous.clone()));
            let (calls, identity) = (Some(calls), identity());
            ranks.push(Group(Arc::new(GroupMember { membership, hosts, calls, rendezvous, identity })));
        }
        Ok(ranks)
    }

    /// Where this rank stands.
    pub fn membership(&self) -> &Membership {
        &self.0.membership
    }

    /// Which rank this is, from 0 on.
    pub fn rank(&self) -> usize {
        self.0.membership.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.0.membership.size
    }

    /// Which rank of its machine this is: it picks the device.
    pub fn local_rank(&self) -> usize {
        self.0.membership.local_rank
    }

    /// Whether this is rank 0, which writes and speaks for all.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Whether there is no other rank.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// The machine of a rank.
    pub fn host(&self, rank: usize) -> &str {
        self.0.hosts.get(rank).map_or("unknown", String::as_str)
    }

    /// Numbers of all ranks combined, in place, on every rank. All give equally many.
    pub fn all_reduce<T: Summable>(&self, numbers: &mut [T], by: Combine) -> Result<()> {
        if self.is_alone() {
            return Ok(());
        }
        let reduced = self.start_all_reduce(numbers.to_vec(), by).wait()?;
        numbers.copy_from_slice(&reduced);
        Ok(())
    }

    /// The same while this rank goes on.
    pub fn start_all_reduce<T: Summable>(&self, mut numbers: Vec<T>, by: Combine) -> Underway<Vec<T>> {
        if self.is_alone() {
            return Underway::done(Ok(numbers));
        }
        self.start(None, move |engine| {
            collective::all_reduce(engine, &mut numbers, by)?;
            Ok(numbers)
        })
    }

    /// Starts to take the mean of the numbers that all ranks give, as bytes that become the mean where they are. `give` runs on
    /// the communication thread, where it may wait for a device while this rank goes on.
    pub fn start_mean<T: Summable>(
        &self,
        give: impl FnOnce() -> Result<Vec<u8>> + Send + 'static,
        part: MeanPart,
        wire: WireFormat,
    ) -> Underway<Vec<u8>> {
        match self.is_alone() {
            true => Underway::done(give()),
            false => self.start(None, move |engine| collective::mean::<T>(engine, give()?, part, wire)),
        }
    }

    /// Numbers of all ranks combined; every rank gets its [`share`](crate::share) of them.
    pub fn reduce_scatter<T: Summable>(&self, numbers: &[T], by: Combine) -> Result<Vec<T>> {
        let numbers = numbers.to_vec();
        self.start(numbers.clone_if_alone(self), move |engine| {
            collective::reduce_scatter(engine, numbers, by)
        })
        .wait()
    }

    /// Everybody's numbers, on every rank, in the order of ranks. Ranks may give different counts.
    pub fn all_gather<T: Summable>(&self, mine: &[T]) -> Result<Vec<Vec<T>>> {
        let mine = mine.to_vec();
        self.start(mine.clone_if_alone(self).map(|own| vec![own]), move |engine| {
            collective::all_gather(engine, &mine)
        })
        .wait()
    }

    /// Everybody's numbers on rank `root`, in the order of ranks; nothing elsewhere.
    pub fn gather<T: Summable>(&self, mine: &[T], root: usize) -> Result<Vec<Vec<T>>> {
        self.check_root("gather", root)?;
        let mine = mine.to_vec();
        self.start(mine.clone_if_alone(self).map(|own| vec![own]), move |engine| {
            collective::gather(engine, &mine, root)
        })
        .wait()
    }

    /// The numbers of rank `root`, in place, on every rank. All have room for equally many.
    pub fn broadcast<T: Summable>(&self, numbers: &mut [T], root: usize) -> Result<()> {
        self.check_root("broadcast", root)?;
        if self.is_alone() {
            return Ok(());
        }
        let mut sent = numbers.to_vec();
        let sent = self.start(None, move |engine| {
            collective::broadcast(engine, &mut sent, root)?;
            Ok(sent)
        });
        numbers.copy_from_slice(&sent.wait()?);
        Ok(())
    }

    /// Returns when all ranks have called it.
    pub fn barrier(&self) -> Result<()> {
        self.start(self.is_alone().then_some(()), |engine| engine.barrier()).wait()
    }

    /// Everybody's text, in the order of ranks.
    pub fn all_texts(&self, mine: &str) -> Result<Vec<String>> {
        let all = self.all_gather(mine.as_bytes())?;
        Ok(all.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect())
    }

    /// Refuses ranks that differ: `facts` are names and what they are here. All ranks get the same answer.
    pub fn agree(&self, facts: &[(&str, String)]) -> Result<()> {
        let mine: Vec<String> = facts.iter().map(|(name, value)| format!("{name}\u{1f}{value}")).collect();
        let all = self.all_texts(&mine.join("\u{1e}"))?;
        let split = |text: &str| -> Vec<(String, String)> {
            let parts = text.split('\u{1e}').filter_map(|fact| fact.split_once('\u{1f}'));
            parts.map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let first = split(&all[0]);
        for (rank, text) in all.iter().enumerate().skip(1) {
            let found = split(text);
            let count = first.len().max(found.len());
            for n in 0..count {
                let (ours, theirs) = (first.get(n), found.get(n));
                if ours != theirs {
                    return Err(self.differ(ours, theirs, rank).into());
                }
            }
        }
        Ok(())
    }

    fn differ(
        &self,
        ours: Option<&(String, String)>,
        theirs: Option<&(String, String)>,
        rank: usize,
    ) -> GroupError {
        let what = ours.or(theirs).map(|(name, _)| name.clone()).unwrap_or_default();
        let value = |fact: Option<&(String, String)>| match fact {
            Some((name, value)) if *name == what => value.clone(),
            Some((name, _)) => format!("{name} instead"),
            None => "nothing".into(),
        };
        let (wanted, found) = (value(ours), value(theirs));
        let (host, other) = (self.host(0).to_string(), self.host(rank).to_string());
        GroupError::Differ { what, wanted, host, found, rank, other }
    }

    /// What ends all ranks, for those who must not hold the group itself.
    pub fn alarm(&self) -> Alarm {
        let processes = !self.is_alone() && self.0.rendezvous.is_none();
        Alarm { rank: self.rank(), host: self.host(self.rank()).to_string(), processes }
    }

    fn check_root(&self, op: &'static str, root: usize) -> Result<()> {
        match root < self.size() {
            true => Ok(()),
            false => Err(GroupError::Root { op, root, size: self.size() }.into()),
        }
    }

    /// Hands a call over, or gives what it is in a group of one.
    fn start<R: Send + 'static>(
        &self,
        alone: Option<R>,
        call: impl FnOnce(&mut dyn GroupEngine) -> Result<R> + Send + 'static,
    ) -> Underway<R> {
        match (&self.0.calls, alone) {
            (Some(calls), _) => calls.hand_over(call),
            (None, Some(own)) => Underway::done(Ok(own)),
            (None, None) => unreachable!("a group of one has its own numbers"),
        }
    }
}

/// A number that no other rank of this process has.
fn identity() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// By the rank that it is: what was compiled for one rank of a process is not for another.
impl Hash for Group {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.identity.hash(state);
    }
}

/// What a collective gives in a group of one.
trait CloneIfAlone: Sized {
    fn clone_if_alone(&self, group: &Group) -> Option<Self>;
}

impl<T: Clone> CloneIfAlone for Vec<T> {
    fn clone_if_alone(&self, group: &Group) -> Option<Vec<T>> {
        group.is_alone().then(|| self.clone())
    }
}

/// Ends all ranks of a group: see [`Group::alarm`].
#[derive(Clone, Debug)]
pub struct Alarm {
    rank: usize,
    host: String,
    /// Whether ranks are processes.
    processes: bool,
}

impl Alarm {
    /// Who raises it: a rank and its machine.
    pub fn who(&self) -> String {
        format!("rank {} on {}", self.rank, self.host)
    }

    /// Ends all ranks now, with an exit code. Ranks that are threads are one process, which ends.
    pub fn abort(&self, code: i32) -> ! {
        #[cfg(feature = "mpi")]
        if self.processes {
            crate::mpi::abort(code);
        }
        let _ = self.processes;
        std::process::exit(code)
    }
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

/// The world of processes that were started together.
#[cfg(feature = "mpi")]
fn world_of(ranks: usize) -> Result<Group> {
    let make = || Ok(Box::new(crate::mpi::MpiEngine::new()?) as Box<dyn GroupEngine>);
    let (calls, membership) = Calls::start(Box::new(make))?;
    if membership.size != ranks {
        let why =
            format!("it does not connect what was started together ({} vs {ranks} ranks)", membership.size);
        return Err(GroupError::Mpi { why }.into());
    }
    let hosts = vec![membership.host.clone()];
    let (calls, identity) = (Some(calls), identity());
    let alone = Group(Arc::new(GroupMember { membership, hosts, calls, rendezvous: None, identity }));
    let hosts = alone.all_texts(&alone.membership().host)?;
    let mut member = Arc::into_inner(alone.0).expect("nobody else has it");
    member.hosts = hosts;
    Ok(Group(Arc::new(member)))
}

#[cfg(not(feature = "mpi"))]
fn world_of(ranks: usize) -> Result<Group> {
    Err(GroupError::NoMpi { ranks }.into())
}
