//! The target of files of pretoken counts.

use std::collections::BTreeMap;

use jeton_io::counts::{CountsReader, encoded, sealed};

/// A file of counts: as it stands, and as the entries of a block, whose checksum fits then; the
/// first byte says how many there are. Entries that are read rise, occur, sum up, and are the same
/// when written and read again.
pub fn counts(data: &[u8]) -> bool {
    let mut is_read = read(data);
    if let Some((&n_entries, payload)) = data.split_first()
        && !payload.is_empty()
    {
        let file = sealed(payload, u32::from(n_entries)).expect("bytes in memory can be written");
        is_read |= read(&file);
    }
    is_read
}

fn read(data: &[u8]) -> bool {
    let Ok(mut reader) = CountsReader::from_reader("fuzzed", data) else {
        return false;
    };
    let mut found: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let is_whole = loop {
        match reader.next_entry() {
            Ok(Some((pretoken, count))) => {
                let last = found.last_key_value();
                assert!(
                    last.is_none_or(|(last, _)| last.as_slice() < pretoken),
                    "not sorted"
                );
                assert!(count > 0 && !pretoken.is_empty(), "a pretoken that is none");
                found.insert(pretoken.to_vec(), count);
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    let header = reader.header().clone();
    if !is_whole {
        return false;
    }
    let sums = reader.sums().expect("the end was read");
    assert_eq!(sums.n_distinct, found.len() as u64, "another number");
    assert_eq!(sums.n_pretokens, found.values().sum::<u64>(), "another sum");
    let entries = found
        .iter()
        .map(|(pretoken, &count)| (pretoken.as_slice(), count));
    let written = encoded(&header, entries, sums.n_documents).expect("what was read is written");
    let mut again = CountsReader::from_reader("written", written.as_slice()).expect("a header");
    while again
        .next_entry()
        .expect("what was written is read")
        .is_some()
    {}
    assert_eq!(again.sums(), Some(sums), "writing changes sums");
    true
}
