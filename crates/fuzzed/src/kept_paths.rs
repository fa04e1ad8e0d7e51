//! Whatever the file of paths may hold: it is refused, or what is read is the same when it is written and read again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kirikae_daemon::kept_paths::{Interfaces, text};

const NOW: Duration = Duration::from_secs(1_800_000_000);

pub(crate) fn play(bytes: &[u8]) {
    let Ok(lines) = std::str::from_utf8(bytes) else { return };
    let interfaces: Interfaces =
        [(2, "eth0".to_owned()), (3, "wlan0".to_owned())].into_iter().collect();
    let now: SystemTime = UNIX_EPOCH + NOW;
    let read = |text: &str| text::read(text, 7, &interfaces, Duration::MAX, now);
    // Few bytes have the right checksum of themselves, so that nothing else would be looked at.
    let whole = text::with_checksum(format!("{}\n{lines}\n", text::VERSION));
    for text in [lines, &whole] {
        match read(text) {
            Ok(paths) => {
                assert!(paths.len() <= lines.lines().count());
                let again = read(&text::write(&paths, &interfaces, now));
                assert_eq!(again.as_ref(), Ok(&paths));
            }
            Err(wrong) => assert!(!wrong.is_empty()),
        }
    }
}
