//! feeds.
