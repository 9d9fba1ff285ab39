//! Edges of buckets with the least padding: an exact optimum.

/// A bucket that ends before the candidate, as a line over the width of the next edge.
#[derive(Clone, Copy)]
struct Line {
    candidate: usize,
    /// Documents up to the candidate.
    documents: i128,
    /// Positions of the best buckets up to the candidate.
    positions: i128,
}

impl Line {
    fn at(&self, width: i128) -> i128 {
        self.positions - self.documents * width
    }

    /// Tells whether `self` is nowhere the least between its neighbours.
    fn is_hidden(&self, before: &Self, after: &Self) -> bool {
        let falls = (after.positions - before.positions) * (self.documents - before.documents);
        falls <= (self.positions - before.positions) * (after.documents - before.documents)
    }
}

/// Returns at most `most` edges for which the rows of all documents have the fewest positions.
///
/// `widths` ascend from 1 on, and `documents[i]` documents have width `widths[i]`; each row is as
/// wide as its bucket's edge. Edges are widths that occur: a wider one would only add padding.
///
/// With `w` the widths and `n` the documents up to a candidate, `k` buckets up to candidate `j`
/// need `w[j] n[j] + min over i < j of (positions[k - 1][i] - n[i] w[j])` positions. The minimum is
/// taken over lines whose slopes fall while `w` grows, so a hull of lines finds it in constant
/// time.
pub fn bucket_edges(widths: &[u32], documents: &[u64], most: usize) -> Vec<u32> {
    let n = widths.len();
    if n == 0 || most == 0 {
        return Vec::new();
    }
    if most >= n {
        return widths.to_vec();
    }
    let mut up_to = vec![0i128; n + 1];
    for (place, &count) in documents.iter().enumerate() {
        up_to[place + 1] = up_to[place] + i128::from(count);
    }
    // One bucket reaches from the first candidate to each.
    let mut positions: Vec<i128> = vec![0];
    positions.extend((0..n).map(|place| i128::from(widths[place]) * up_to[place + 1]));
    let mut before: Vec<Vec<u32>> = Vec::new();
    let mut hull: Vec<Line> = Vec::new();
    for _ in 1..most {
        let mut best = vec![0i128; n + 1];
        let mut from = vec![0u32; n + 1];
        hull.clear();
        let mut least = 0;
        for j in 1..=n {
            let line = Line {
                candidate: j - 1,
                documents: up_to[j - 1],
                positions: positions[j - 1],
            };
            while hull.len() >= 2 && hull[hull.len() - 1].is_hidden(&hull[hull.len() - 2], &line) {
                hull.pop();
            }
            hull.push(line);
            least = least.min(hull.len() - 1);
            let width = i128::from(widths[j - 1]);
            while least + 1 < hull.len() && hull[least + 1].at(width) <= hull[least].at(width) {
                least += 1;
            }
            best[j] = width * up_to[j] + hull[least].at(width);
            from[j] = hull[least].candidate as u32;
        }
        positions = best;
        before.push(from);
    }
    let mut edges = Vec::with_capacity(most);
    let mut end = n;
    for from in before.iter().rev() {
        edges.push(widths[end - 1]);
        end = from[end] as usize;
        if end == 0 {
            break;
        }
    }
    if end > 0 {
        edges.push(widths[end - 1]);
    }
    edges.reverse();
    edges
}
