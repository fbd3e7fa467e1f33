//! The published data sets that can be fetched, one row each: which files, from where, with which checksums.

/// One file of a set.
pub struct PublishedFile {
    /// Its name, at the address and in the set's folder.
    pub name: &'static str,
    /// Its bytes; 0 where only the checksum is published.
    pub bytes: u64,
    /// Their SHA-256, as hexadecimal digits.
    #[cfg_attr(not(feature = "download"), allow(dead_code))]
    pub sha256: &'static str,
    /// Whether it is an archive whose files are wanted (`.tar.gz`).
    pub archive: bool,
}

/// A published data set.
pub struct PublishedSet {
    /// Its name, and that of its folder.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// The address that its files are at, up to their names.
    pub address: &'static str,
    /// Its files.
    pub files: &'static [PublishedFile],
    /// A command that learns from it.
    pub then: &'static str,
}

const fn file(name: &'static str, bytes: u64, sha256: &'static str) -> PublishedFile {
    PublishedFile { name, bytes, sha256, archive: false }
}

/// All of them.
#[rustfmt::skip]
pub const PUBLISHED_SETS: [PublishedSet; 5] = [
    PublishedSet {
        name: "mnist",
        about: "handwritten digits: 60,000 to learn from, 10,000 to be judged by",
        address: "https://ossci-datasets.s3.amazonaws.com/mnist/",
        files: &[
            file("train-images-idx3-ubyte.gz", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            file("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
            file("t10k-images-idx3-ubyte.gz", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
            file("t10k-labels-idx1-ubyte.gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
        ],
        then: "farad train mnist",
    },
    PublishedSet {
        name: "fashion-mnist",
        about: "clothes as small gray pictures: 60,000 and 10,000",
        address: "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        files: &[
            file("train-images-idx3-ubyte.gz", 26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            file("train-labels-idx1-ubyte.gz", 29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
            file("t10k-images-idx3-ubyte.gz", 4_422_102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            file("t10k-labels-idx1-ubyte.gz", 5_148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
        ],
        then: "farad train fashion-mnist",
    },
    PublishedSet {
        name: "cifar10",
        about: "small color photographs in ten classes: 50,000 and 10,000",
        address: "https://www.cs.toronto.edu/~kriz/",
        files: &[PublishedFile {
            name: "cifar-10-binary.tar.gz",
            bytes: 170_052_171,
            sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            archive: true,
        }],
        then: "farad train cifar10",
    },
    PublishedSet {
        name: "tiny-shakespeare",
        about: "a million characters of plays, for language models",
        address: "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/",
        files: &[file("input.txt", 1_115_394, "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed")],
        then: "farad train lm --data FOLDER",
    },
    PublishedSet {
        name: "wikitext-2",
        about: "two million words of articles, in train, valid and test",
        address: "https://raw.githubusercontent.com/pytorch/examples/main/word_language_model/data/wikitext-2/",
        files: &[
            file("train.txt", 0, "9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f"),
            file("valid.txt", 1_121_681, "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8"),
            file("test.txt", 1_256_449, "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0"),
        ],
        then: "farad train lm --data FOLDER --tokenizer words",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_whole() {
        for set in &PUBLISHED_SETS {
            assert!(set.address.ends_with('/') && set.address.starts_with("http"), "{}", set.name);
            assert!(!set.files.is_empty() && !set.about.is_empty(), "{}", set.name);
            for file in set.files {
                let digits = file.sha256.len() == 64 && file.sha256.bytes().all(|b| b.is_ascii_hexdigit());
                assert!(digits && file.archive == file.name.ends_with(".tar.gz"), "{}", file.name);
            }
        }
    }
}
