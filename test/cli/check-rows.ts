/** Rows about checks for the table of every command and every exit code. The app is that of the notification rows. */
import type { Row } from './notification-rows.ts'

const NO = 'chk_0mwhkcyh5nlh1pqqssy5gj19q'

export const CHECK_ROWS: Row[] = [
  ['apps checks shop', 0, /^NAME +ID +KIND +STATE/],
  ['apps checks nobody', 4, /svc apps list/],
  ['apps checks shop --limit x', 5, /Invalid value for --limit: x/],
  ['apps checks add shop Panics --pattern panic --window 5 --max-count 0', 0, /Panics +chk_\w+ +logs/],
  ['apps checks add shop Panics --pattern panic', 6, /already has a check with this name/],
  ['apps checks add nobody Panics --pattern panic', 4, /svc apps list/],
  ['apps checks add shop Other --pattern panic --context ro', 3, /error: /],
  ['apps checks add shop Asked --question Well? --max-tokens 900', 0, /Asked +chk_\w+ +judge/],
  ['apps checks add shop Other --question Well? --pattern panic', 5, /several kinds of checks/],
  ['apps checks add shop Other', 5, /Nothing to check/],
  ['apps checks add shop Other --pattern x --url https://x.test', 5, /several kinds/],
  [
    'apps checks add shop Other --url ftp://x.test --condition nonsense',
    5,
    /definition\.url[^]*definition\.conditions/,
  ],
  ['apps checks add shop Other --url https://x.test --header nonsense', 5, /Invalid value for --header/],
  [
    'apps checks add shop Health --url https://health.invalid/ --header "X-Key: -" --condition "[STATUS] == 200" --disable --json',
    0,
    /"X-Key": "\[hidden\]"[^]*"paused": "disabled"/,
    { stdin: 'secret' },
  ],
  [
    'apps checks edit shop Health --interval 300 --failures 2 --json',
    0,
    /"X-Key": "\[hidden\]"[^]*"interval_seconds": 300/,
  ],
  [
    'apps checks edit shop Health --condition "[STATUS] < 500" --header "Accept: text/plain" --json',
    0,
    /"X-Key"[^]*"Accept"[^]*< 500/,
  ],
  ['apps checks edit shop Health --url https://elsewhere.invalid/', 5, /host changed/],
  [
    'apps checks edit shop Health --maintenance 2030-01-01T00:00:00Z/2030-01-02T00:00:00Z --json',
    0,
    /"until": "2030-01-02/,
  ],
  ['apps checks edit shop Health --maintenance tomorrow', 5, /Invalid value for --maintenance/],
  [
    'apps checks edit shop Health --no-maintenance --no-headers --json',
    0,
    /"headers": \{\}[^]*"maintenance_windows": \[\]/,
  ],
  ['apps checks edit shop Health --name Panics', 6, /already has a check with this name/],
  ['apps checks edit shop Health --enable --disable', 5, /--enable conflicts with --disable/],
  ['apps checks edit shop Nothing --enable', 4, /No check is named Nothing/],
  ['apps checks edit shop Health --enable --context ro', 3, /error: /],
  ['apps checks run shop Panics', 0, /pass/],
  ['apps checks run shop Panics', 1, /Too many requests/],
  // The lines of the rows about logs are there: it works, and what it finds is not well.
  ['apps checks add shop Declined --pattern declined --window 60', 0, /Declined +chk_\w+ +logs/],
  ['apps checks run shop Declined', 11, /fail/],
  ['apps checks run shop Health', 6, /paused: Turned off/],
  ['apps checks run shop Nothing', 4, /svc apps checks/],
  ['apps checks run shop', 5, /requires <check>/],
  ['apps checks run shop Panics --context ro', 3, /error: /],
  ['apps checks history shop Panics', 0, /^TIME +RESULT[^]*pass/],
  ['apps checks history shop Panics --result fail --json', 0, /"runs": \[\]/],
  ['apps checks history shop Panics --result good', 5, /Must be one of: pass, fail/],
  [`apps checks history shop ${NO}`, 4, /svc apps checks/],
  ['apps checks remove shop Health', 5, /Add --yes/],
  ['apps checks remove shop Health --yes --context ro', 3, /error: /],
  ['apps checks remove shop Health --yes', 0, /Removed chk_/],
  ['apps checks remove shop Health --yes', 4, /svc apps checks/],
]

export const CHECK_LINES = [
  'apps checks shop',
  'apps checks add shop Other --pattern x',
  `apps checks edit shop ${NO} --enable`,
  `apps checks run shop ${NO}`,
  `apps checks history shop ${NO}`,
  `apps checks remove shop ${NO} --yes`,
]
