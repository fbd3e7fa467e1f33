//! Evolution of creatures: bodies with their controllers, in an archive of kinds (`farad train evolve`).
//!
//! An [`Archive`] keeps the best creature of every cell of a grid of descriptors, such as mass and touch (MAP-Elites,
//! Mouret and Clune, 2015). [`Novelty`] looks for what moves like nothing before (Lehman and Stanley, 2011); it fills
//! an archive too. A generation is one herd: all its creatures move at once, in one program on the device.
//!
//! Invariant: a generation depends on the settings, the archive (with the population of a novelty search) and its
//! number. Start at [`Evolution`].

mod archive;
mod descriptors;
mod generation;
mod kind;
mod map;
mod novelty;
mod page;
mod report;
mod settings;
mod trainee;

pub use archive::{ARCHIVE_VERSION, Archive, ArchiveAxis, ArchiveError, Elite, Placement};
pub use descriptors::{DESCRIPTORS, DescriptorRow};
pub use generation::{Evolution, GenerationCourse};
pub use kind::{Creatures, KIND, evolved};
pub use novelty::Novelty;
pub use page::{ARCHIVE_FILE, GALLERY_FILE, film, gallery, of_rank};
pub use settings::CreatureSettings;
