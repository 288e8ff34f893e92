/** Rows about the trail for the table of every command and every exit code. */
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Call } from '../../src/client/http-client.ts'
import { TRAIL_STREAMS_MAX } from '../../src/contracts/limits.ts'
import { createTrailStream } from '../../src/contracts/trail.ts'
import type { Row } from './notification-rows.ts'

/** All streams but one that an organization may have, and where an export goes to, in a folder that is empty. */
export async function makeAudit(
  call: Call,
  receiver: string,
  folder: string,
): Promise<Record<string, string>> {
  const ids: string[] = []
  for (let count = 1; count < TRAIL_STREAMS_MAX; count++) {
    ids.push((await call(createTrailStream, { kind: 'webhook', url: `${receiver}/trail-${count}` })).id)
  }
  const [trail, notrail] = ['trail.ndjson', 'notes.txt'].map((name) => join(folder, name))
  writeFileSync(notrail!, 'notes\n')
  // A disk that is full.
  symlinkSync('/dev/full', join(folder, 'full.partial'))
  return { stream: ids[0]!, trail: trail!, notrail: notrail!, trails: folder }
}

const NO_STREAM = 'trs_0mwhkcyh5nlh1pqqssy5gj19q'

export const AUDIT_ROWS: Row[] = [
  ['audit export {trail}', 0, /^Wrote \{trail\}\. Verify it: svc audit verify \{trail\}\n/],
  ['audit export {trail} --json', 0, /"lines": \d+/],
  ['audit export', 5, /requires <file>/],
  ['audit export {trails}/nowhere/trail.ndjson', 5, /There is no folder \{trails\}\/nowhere\nhint: /],
  ['audit export {trails}', 5, /\{trails\} cannot be written \(EISDIR\)\nhint: /],
  ['audit export {trails}/full', 5, /\{trails\}\/full cannot be written \(ENOSPC\)\nhint: There is no room/],
  ['audit export {trail} --context ro', 3, /error: /],
  ['audit verify {trail}', 0, /^Intact: \d+ rows are as they were sealed\.\nSigned head: /],
  ['audit verify {trail} --key 0000000000000000', 11, /sealed, but with another key than yours/],
  ['audit verify {trail} --roots {notrail} --json', 11, /"unreadable": 1/],
  ['audit verify {notrail}', 11, /^Not intact: [^\n]* \(line 1, unreadable\)/],
  ['audit verify {trails}/nowhere', 5, /nowhere cannot be read \(ENOENT\)[^]*svc audit export/],
  ['audit verify', 5, /requires <file>/],
  ['audit streams', 0, /^STREAM +KIND +HOST +SENT TO +SENT +FAILURES +PROBLEM\n[^]*\{stream\} +webhook +127/],
  ['audit streams --limit x', 5, /Invalid value for --limit: x/],
  ['audit streams --context ro', 3, /requires the role owner/],
  ['audit streams add pigeon {receiver}', 5, /Must be one of: webhook, otlp/],
  ['audit streams add webhook https://10.0.0.1/', 5, /url: must be an https address on a public network/],
  ['audit streams add webhook {receiver} --context ro', 3, /requires the role owner/],
  ['audit streams add otlp {receiver}/v1/logs --authorization -', 5, /No input on stdin for the header/],
  [
    'audit streams add otlp {receiver}/v1/logs --authorization -',
    0,
    /\ntrs_\w+ +otlp +127\.0\.0\.1/,
    { stdin: 'Bearer x\n' },
  ],
  ['audit streams add otlp {receiver}/v1/logs', 6, /at most 20 streams/],
  ['audit streams remove {stream}', 5, /Add --yes/],
  ['audit streams remove {stream} --yes --context ro', 3, /requires the role owner/],
  ['audit streams remove {stream} --yes', 0, /Removed \{stream\}/],
  ['audit streams remove {stream} --yes', 4, /svc audit streams/],
]

/** A line for every command that calls the server. */
export const AUDIT_LINES = [
  'audit export {trail}',
  'audit streams',
  'audit streams add webhook {receiver}',
  `audit streams remove ${NO_STREAM} --yes`,
]
