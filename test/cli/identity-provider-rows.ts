/** Rows about the identity provider for the table of every command and every exit code. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Row } from './notification-rows.ts'

/** In a folder that is empty. */
export function makeProviderFiles(folder: string): Record<string, string> {
  const [assertion, rules] = [join(folder, 'assertion.jwt'), join(folder, 'rules.json')]
  writeFileSync(assertion, 'a.b.c')
  writeFileSync(rules, '[]')
  return { assertion, rules }
}

const NOBODY = 'usr_0mwhkcyh5nlh1pqqssy5gj19q'
const NO_LINK = 'idl_0mwhkcyh5nlh1pqqssy5gj19q'
const NONE = /has no identity provider/

/** The organization has none: it would have to be at a public address. */
export const IDENTITY_PROVIDER_ROWS: Row[] = [
  ['agents provider', 0, /state: +none\naudience: +http[^]*platform: +http\S+\/platform\n/],
  ['agents provider --nothing', 5, /--nothing/],
  ['agents provider add http://idp.example.com', 5, /must be an https address/],
  ['agents provider add https://idp.example.com --tenant-claim sub', 5, /Must be one of: tid, /],
  ['agents provider add nothing', 5, /must be an https address/],
  ['agents provider probe', 4, NONE],
  ['agents provider probe --assertion nowhere.jwt', 5, /Cannot read nowhere.jwt/],
  ['agents provider activate -', 4, NONE, { stdin: 'a.b.c' }],
  ['agents provider activate nowhere.jwt', 5, /Cannot read nowhere.jwt/],
  ['agents provider update --linking member', 4, NONE],
  ['agents provider update', 5, /Nothing to change/],
  ['agents provider update --required --not-required', 5, /conflicts with/],
  ['agents provider pause', 5, /Add --yes/],
  ['agents provider pause --yes', 4, NONE],
  ['agents provider resume', 4, NONE],
  ['agents provider resume --nothing', 5, /--nothing/],
  ['agents provider remove', 5, /Add --yes/],
  ['agents provider remove --yes', 4, NONE],
  ['agents provider disconnect', 5, /Add --yes/],
  ['agents provider disconnect --yes', 4, NONE],
  ['agents provider clients', 4, NONE],
  ['agents provider clients --limit x', 5, /Invalid value for --limit: x/],
  ['agents provider create-client Desk --scope data:read', 4, NONE],
  ['agents provider create-client Desk', 5, /Add --scope/],
  ['agents provider allow x --scope data:read', 4, NONE],
  ['agents provider allow x', 5, /Add --scope/],
  ['agents provider forbid x', 5, /Add --yes/],
  ['agents provider forbid x --yes', 4, NONE],
  ['agents provider rules', 4, NONE],
  ['agents provider rules --limit x', 5, /Invalid value for --limit: x/],
  ['agents provider set-rules - --yes', 4, NONE, { stdin: '[]' }],
  ['agents provider set-rules - --yes', 5, /not a JSON list/, { stdin: '{"rule":1}' }],
  [`agents provider preview ${NOBODY} x`, 4, NONE],
  [`agents provider preview ${NOBODY} x --claim groups`, 5, /Write it as groups=engineering/],
  ['agents provider links', 4, NONE],
  ['agents provider links --limit x', 5, /Invalid value for --limit: x/],
  [`agents provider link x ${NOBODY}`, 4, NONE],
  ['agents provider link x y', 5, /must look like usr_/],
  [`agents provider unlink ${NO_LINK}`, 5, /Add --yes/],
  [`agents provider unlink ${NO_LINK} --yes`, 4, NONE],
  ['agents provider refusals', 4, NONE],
  ['agents provider refusals --reason boredom', 5, /Must be one of: malformed, /],
]

/** A line for every command that calls the server. */
export const IDENTITY_PROVIDER_LINES = [
  'agents provider',
  'agents provider add https://idp.example.com',
  'agents provider probe',
  'agents provider activate {assertion}',
  'agents provider update --name x',
  'agents provider pause --yes',
  'agents provider resume',
  'agents provider remove --yes',
  'agents provider disconnect --yes',
  'agents provider clients',
  'agents provider create-client Desk --scope data:read',
  'agents provider allow x --scope data:read',
  'agents provider forbid x --yes',
  'agents provider rules',
  'agents provider set-rules {rules} --yes',
  `agents provider preview ${NOBODY} x`,
  'agents provider links',
  `agents provider link x ${NOBODY}`,
  `agents provider unlink ${NO_LINK} --yes`,
  'agents provider refusals',
]

const because =
  'takes an identity provider at a public address: src/cli/commands/identity-provider.test.ts prints its answers'
const done = { exits: [0], because }
const doneOrConflict = { exits: [0, 6], because }

export const IDENTITY_PROVIDER_UNTRIED = {
  'agents provider add': doneOrConflict,
  'agents provider probe': done,
  'agents provider activate': doneOrConflict,
  'agents provider update': doneOrConflict,
  'agents provider pause': doneOrConflict,
  'agents provider resume': doneOrConflict,
  'agents provider remove': done,
  'agents provider disconnect': done,
  'agents provider clients': done,
  'agents provider create-client': doneOrConflict,
  'agents provider allow': doneOrConflict,
  'agents provider forbid': done,
  'agents provider rules': done,
  'agents provider set-rules': done,
  'agents provider preview': done,
  'agents provider links': done,
  'agents provider link': doneOrConflict,
  'agents provider unlink': done,
  'agents provider refusals': done,
}
