//! Scripts of segments in and segments out, in the manner of packetdrill.
//!
//! A script begins with the host's setup, one a line:
//!
//! ```text
//! profile linux-6                 # or linux-2.6.33
//! set initial_window 3            # one feature of the profile otherwise; sack_compression: none
//! algorithm kk_reno
//! kk_cubic.c_1000 400             # a parameter of the algorithm
//! mtu 1500
//! connect 0.100                   # the handshake is over at time 0 and took so long; or: none
//! window 1000000                  # the receive window of the other end
//! ```
//!
//! What follows begins with a time in seconds, absolute or after the line before (`+0.1`), or no time
//! for the same:
//!
//! ```text
//! 0.000  write 14480              # the application writes
//!        > 1:14481                # leaves: these bytes, in full segments
//! +0.100 < ack 1449 sack 2897:4345   # arrives
//! +0.200~0.004 > 1449:2897        # leaves, 4 ms sooner or later
//!        % cwnd == 11, state == Open # holds now
//!        read 0                   # the application reads so much, and no more by itself
//!        open                     # the connection, after `connect none`
//!        link leaves              # the host is mobile: its link is about to go; or: returns
//! +1     quiet                    # until now nothing else leaves
//! ```
//!
//! A segment has the words `syn psh ece cwr migrate ect ce`, a range of bytes, `ack`, `win`, `sack` with
//! blocks and `ecr`, the time whose timestamp it echoes. For a segment that leaves, `psh`, `ect`, `ack`,
//! `win` and `ecr` are checked only if the script has them; everything else must be as written. A segment
//! that arrives has the window of the setup and echoes as RFC 7323 says, unless the script has something
//! else. The script has to name each segment that leaves.

mod parse;
mod run;

pub use parse::Script;
