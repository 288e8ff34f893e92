/** Whatever ends a credential goes through `recordEnding`, and every kind of credential has an ending that can be done again. */
import { expect, test } from 'vitest'
import { CREDENTIAL_KINDS, type CredentialKind } from '../../src/contracts/credential-kinds.ts'
import { ENDED_AS, ENDED_KINDS } from '../../src/contracts/endings.ts'
import { filesUnder, readText } from './source-tree.ts'

const sources = () =>
  filesUnder('src/cores')
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => ({ path, text: readText(path) }))

test.each(Object.keys(CREDENTIAL_KINDS) as CredentialKind[])(
  '%s has an ending of its own, or a reason why none comes back',
  (kind) => {
    const ended = ENDED_AS[kind]
    if ('none' in ended) expect(ended.none.length).toBeGreaterThan(10)
    else expect(ended.length).toBeGreaterThan(0)
  },
)

test.each(Object.keys(ENDED_KINDS))('%s is recorded by whoever ends it', (kind) => {
  const recording = new RegExp(`record(?:Ending|Narrowing)\\(\\s*tx,\\s*'${kind}'`)
  const by = sources().filter(({ path, text }) => recording.test(text) && !path.endsWith('end-again.ts'))
  expect(by.map(({ path }) => path)).not.toEqual([])
})

/** Tables whose rows are stamped when they end: stamped elsewhere, an ending would be missing in the journal. */
const STAMPED =
  /\.update\((?:sessions|apiTokens|appTokens|invitations|platformAccessGrants|machineAgents|machineAgentCredentials|supportSessions)\)\s*\.set\(\{\s*(?:endedAt|revokedAt|removedAt):/

/** A login that was approved and never fetched has no token that could come back; an expired grant is dead by its time. */
const BY_TIME = [
  'src/cores/identity/sweep-sign-ins.ts',
  'src/cores/identity-provider/exchange/exchange-assertion.ts',
]

test('nothing is stamped as ended without being recorded', () => {
  const stamping = sources().filter(({ text }) => STAMPED.test(text))
  expect(stamping.length).toBeGreaterThan(5)
  const unrecorded = stamping.filter(({ text }) => !text.includes('recordEnding('))
  expect(unrecorded.map(({ path }) => path).toSorted()).toEqual(BY_TIME.toSorted())
})
