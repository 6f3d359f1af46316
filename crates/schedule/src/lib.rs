//! schedule.
