//! The hierarchy of single linkage.

use super::spanning::{Edge, Sets};

/// Two nodes that become one. Nodes below the number of rows are rows; others are earlier merges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Merge {
    /// The nodes.
    pub(crate) children: [usize; 2],
    /// How far apart they are.
    pub(crate) distance: f64,
    /// Rows of both.
    pub(crate) size: usize,
}

/// The merges of all rows, nearest first.
pub(crate) struct Dendrogram {
    rows: usize,
    merges: Vec<Merge>,
}

impl Dendrogram {
    /// Follows the edges of a spanning tree, shortest first.
    pub(crate) fn of(rows: usize, edges: &[Edge]) -> Self {
        let mut sets = Sets::new(rows);
        let mut node: Vec<usize> = (0..rows).collect();
        let mut tree = Self { rows, merges: Vec::with_capacity(edges.len()) };
        for edge in edges {
            let [a, b] = [edge.low, edge.high].map(|row| sets.find(row));
            let children = [node[a], node[b]];
            let size = children.iter().map(|child| tree.size(*child)).sum();
            node[sets.join(a, b)] = rows + tree.merges.len();
            tree.merges.push(Merge { children, distance: edge.distance, size });
        }
        tree
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The node of all rows.
    pub(crate) fn root(&self) -> usize {
        self.rows + self.merges.len() - 1
    }

    /// What became a node; nothing for a row.
    pub(crate) fn merge(&self, node: usize) -> Option<&Merge> {
        node.checked_sub(self.rows).map(|merge| &self.merges[merge])
    }

    /// How many rows a node has.
    pub(crate) fn size(&self, node: usize) -> usize {
        self.merge(node).map_or(1, |merge| merge.size)
    }

    /// Acts on every row of a node.
    pub(crate) fn for_each_row(&self, node: usize, mut act: impl FnMut(usize)) {
        let mut nodes = vec![node];
        while let Some(node) = nodes.pop() {
            match self.merge(node) {
                Some(merge) => nodes.extend(merge.children),
                None => act(node),
            }
        }
    }
}
