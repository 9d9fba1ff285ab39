//! Counts in little memory against counts in an ordered map; files against damage.

use std::collections::BTreeMap;

use jeton_core::documents::batch::DocumentBatch;
use jeton_train::SplitFn;
use proptest::prelude::*;
use serde_json::json;

use super::*;

type Map = BTreeMap<Vec<u8>, u64>;

/// Cuts behind each space.
const AT_SPACES: &SplitFn<'static> = &|text, sink| {
    text.split_inclusive(' ')
        .for_each(|piece| sink(piece.as_bytes()));
    Ok(())
};

fn go() -> impl FnMut() -> bool {
    || true
}

fn header() -> CountsHeader {
    CountsHeader {
        recipe: json!({"pattern": "x"}),
        info: json!({"sources": ["ä"]}),
    }
}

fn documents(n: u64) -> Vec<String> {
    (0..n)
        .map(|i| {
            let words = (0..200).map(|j| {
                let mixed = (i * 200 + j).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                match j % 4 {
                    0 => format!("w{} ", mixed % 30),
                    1 => format!("{mixed:x} "),
                    2 => format!("{mixed:030x} "),
                    _ => format!("{}{mixed:x} ", "long".repeat(12)),
                }
            });
            words.collect()
        })
        .collect()
}

fn naive(documents: &[String]) -> Map {
    let mut map = Map::new();
    for text in documents {
        for piece in text.split_inclusive(' ') {
            *map.entry(piece.as_bytes().to_vec()).or_default() += 1;
        }
    }
    map
}

fn count(documents: &[String], max_memory: Option<usize>, threads: usize) -> TextCounts {
    let mut counts = TextCounts::new(max_memory, std::env::temp_dir());
    for documents in documents.chunks(9) {
        let batch = DocumentBatch::from_texts(documents);
        let splitting = Splitting::Function(AT_SPACES);
        counts
            .count(
                batch.as_ref(),
                Weights::All(1),
                splitting,
                threads,
                &mut go(),
            )
            .unwrap();
    }
    counts
}

fn map_of(counts: &mut TextCounts) -> Map {
    counts.settle(&mut go()).unwrap();
    let mut map = Map::new();
    counts
        .each::<CountsError>(&mut |bytes, count| {
            assert!(map.insert(bytes.to_vec(), count).is_none());
            Ok(())
        })
        .unwrap();
    map
}

#[test]
fn counts_are_the_same_in_any_memory() {
    let documents = documents(300);
    let expected = naive(&documents);
    let bytes: u64 = documents.iter().map(|text| text.len() as u64).sum();
    for (max_memory, threads, spills) in [
        (None, 1, false),
        (None, 3, false),
        (Some(300_000), 1, true),
        (Some(300_000), 2, true),
        // So little that there would be thousands of runs.
        (Some(40_000), 1, true),
    ] {
        let mut counts = count(&documents, max_memory, threads);
        assert_eq!(counts.is_on_disk(), spills);
        let n_runs = counts.runs().len();
        assert!(n_runs < 3 * runs::MAX_RUNS_AT_ONCE, "{n_runs}");
        let n_bytes_of_runs: u64 = counts.runs().iter().map(|run| run.n_bytes).sum();
        let was_added_up = counts.n_bytes_spilled() > n_bytes_of_runs;
        assert_eq!(was_added_up, max_memory == Some(40_000));
        assert_eq!(map_of(&mut counts), expected);
        assert_eq!(counts.n_bytes_spilled() > 0, spills);
        assert_eq!(counts.n_distinct(), expected.len() as u64);
        assert_eq!(counts.totals().n_bytes, bytes);
        assert_eq!(counts.in_memory().is_some(), !spills);
        let n_bytes: usize = expected.keys().map(Vec::len).sum();
        assert_eq!(counts.n_distinct_bytes(), n_bytes as u64);

        // Counting goes on after looking.
        let batch = DocumentBatch::from_texts(["w1 w1 new"]);
        let splitting = Splitting::Function(AT_SPACES);
        counts
            .count(
                batch.as_ref(),
                Weights::All(2),
                splitting,
                threads,
                &mut go(),
            )
            .unwrap();
        let mut more = expected.clone();
        *more.entry(b"w1 ".to_vec()).or_default() += 4;
        *more.entry(b"new".to_vec()).or_default() += 2;
        assert_eq!(map_of(&mut counts), more);
        assert_eq!(counts.totals().n_documents, 301);
    }
}

#[test]
fn files_hold_what_was_counted_and_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let all = documents(60);
    let (first, second) = all.split_at(25);
    for (part, name, memory) in [(first, "a", None), (second, "b", Some(40_000))] {
        let mut counts = count(part, memory, 1);
        counts.settle(&mut go()).unwrap();
        let sums = counts.save(&path(name), &header(), &mut go()).unwrap();
        assert_eq!(sums.n_documents, part.len() as u64);
    }
    for memory in [None, Some(40_000)] {
        let mut together = TextCounts::new(memory, std::env::temp_dir());
        for name in ["a", "b"] {
            let mut reader = CountsReader::open(&path(name)).unwrap();
            assert_eq!(*reader.header(), header());
            together.add_file(&mut reader, 3, &mut go()).unwrap();
        }
        let mut expected = naive(&all);
        expected.values_mut().for_each(|count| *count *= 3);
        assert_eq!(map_of(&mut together), expected);
        assert_eq!(together.totals().n_documents, 60);
        assert_eq!(
            together.totals().n_pretokens,
            expected.values().sum::<u64>()
        );
    }
    // Equal counts are equal bytes, however they came about.
    let mut whole = count(&all, None, 2);
    whole.settle(&mut go()).unwrap();
    whole.save(&path("whole"), &header(), &mut go()).unwrap();
    let mut sum = count(first, Some(40_000), 2);
    let mut rest = count(second, None, 1);
    rest.settle(&mut go()).unwrap();
    sum.merge(&mut rest, &mut go()).unwrap();
    sum.settle(&mut go()).unwrap();
    sum.save(&path("sum"), &header(), &mut go()).unwrap();
    assert!(std::fs::read(path("whole")).unwrap() == std::fs::read(path("sum")).unwrap());
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 4, "temporary files are gone");
}

#[test]
fn what_is_rare_can_be_left_out_and_is_accounted_for() {
    let documents = documents(50);
    let expected = naive(&documents);
    for memory in [None, Some(40_000)] {
        let mut counts = count(&documents, memory, 1);
        counts.settle(&mut go()).unwrap();
        let (kept, left_out) = counts.at_least(3).unwrap();
        let rare = expected.iter().filter(|&(_, &count)| count < 3);
        assert_eq!(
            kept.len() as u64 + left_out.n_distinct,
            expected.len() as u64
        );
        assert_eq!(left_out.n_distinct, rare.clone().count() as u64);
        assert_eq!(
            left_out.n_pretokens,
            rare.map(|(_, count)| count).sum::<u64>()
        );
        assert!(
            kept.iter()
                .all(|(bytes, count)| count >= 3 && expected[bytes] == count)
        );
        assert_eq!(kept.n_documents(), 50);
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error_with_its_name() {
    let mut counts = TextCounts::new(Some(40_000), PathBuf::from("/no/such/folder"));
    let documents = documents(50);
    let batch = DocumentBatch::from_texts(&documents);
    let splitting = Splitting::Function(AT_SPACES);
    let error = counts
        .count(batch.as_ref(), Weights::All(1), splitting, 2, &mut go())
        .unwrap_err();
    assert!(
        matches!(&error, CountsError::Io(IoError::Write { path, .. }) if path.contains("/no/such/folder")),
        "{error}"
    );
}

#[test]
fn whoever_asks_to_stop_is_heard() {
    let mut counts = count(&documents(300), Some(40_000), 1);
    let error = counts.settle(&mut || false).unwrap_err();
    let CountsError::Core(error) = error else {
        panic!("{error}")
    };
    assert_eq!(*error.kind(), ErrorKind::Interrupted);
}

fn file_of(map: &Map) -> Vec<u8> {
    let entries = map.iter().map(|(bytes, &count)| (bytes.as_slice(), count));
    encoded(&header(), entries, 7).unwrap()
}

fn read(data: &[u8]) -> std::result::Result<Map, IoError> {
    let mut reader = CountsReader::from_reader("x", data)?;
    let mut map = Map::new();
    while let Some((bytes, count)) = reader.next_entry()? {
        assert!(
            map.last_key_value()
                .is_none_or(|(last, _)| last.as_slice() < bytes)
        );
        map.insert(bytes.to_vec(), count);
    }
    assert_eq!(reader.sums().unwrap().n_distinct, map.len() as u64);
    Ok(map)
}

#[test]
fn counts_beyond_u64_are_refused() {
    let data = file_of(&Map::from([(b"a".to_vec(), u64::MAX)]));
    assert!(read(&data).is_ok());
    let data = file_of(&Map::from([(b"a".to_vec(), u64::MAX), (b"b".to_vec(), 1)]));
    assert!(read(&data).unwrap_err().to_string().contains("2^64"));
    let data = file_of(&Map::from([(b"ab".to_vec(), u64::MAX)]));
    assert!(read(&data).is_err());
    let mut counts = TextCounts::new(None, std::env::temp_dir());
    let data = file_of(&Map::from([(b"a".to_vec(), u64::MAX / 2)]));
    let mut add = |weight| {
        let mut reader = CountsReader::from_reader("x", data.as_slice()).unwrap();
        counts.add_file(&mut reader, weight, &mut go())
    };
    assert!(add(2).is_ok());
    assert!(add(3).is_err() && add(1).is_err());
}

#[test]
fn pretokens_much_longer_than_the_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts").display().to_string();
    let mut writer = CountsWriter::create(&path, &header()).unwrap();
    // A block ends at 64 KiB, and the first of each shares nothing.
    let mut word = vec![b'a'; 60 << 10];
    for _ in 0..2000 {
        writer.push(&word, 1).unwrap();
        word.push(b'a');
    }
    writer.finish(1).unwrap();
    // 120 MB of pretokens in less than 1 MB: that is allowed; some thousand times as many would not
    // be.
    assert!(std::fs::metadata(&path).unwrap().len() < 2 << 20);
    assert!(read(&std::fs::read(&path).unwrap()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn files_return_what_was_written(
        map in proptest::collection::btree_map(
            proptest::collection::vec(any::<u8>(), 1..40), 1_u64..1 << 50, 0..60),
    ) {
        prop_assert_eq!(read(&file_of(&map)).unwrap(), map);
    }

    #[test]
    fn damage_is_noticed(
        map in proptest::collection::btree_map("[ab]{1,6}", 1_u64..300, 0..40),
        at in any::<proptest::sample::Index>(),
        change in 1_u8..=255,
        cut in any::<bool>(),
    ) {
        let map: Map = map.into_iter().map(|(word, n)| (word.into_bytes(), n)).collect();
        let mut data = file_of(&map);
        let at = at.index(data.len());
        if cut {
            data.truncate(at);
        } else {
            data[at] ^= change;
        }
        prop_assert!(read(&data).is_err());
        data = file_of(&map);
        data.push(change);
        prop_assert!(read(&data).is_err());
    }

    #[test]
    fn any_entries_are_read_or_refused(
        payload in proptest::collection::vec(0_u8..8, 1..60),
        n_entries in 1_u32..12,
    ) {
        // The end is missing, so that the best that can be said is that.
        prop_assert!(read(&sealed(&payload, n_entries).unwrap()).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&data);
        let mut whole = file_of(&Map::new());
        whole.truncate(whole.len() - 56);
        whole.extend(data);
        let _ = read(&whole);
    }
}
