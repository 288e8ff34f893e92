/** Rows about machine agents for the table of every command and every exit code. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Call } from '../../src/client/http-client.ts'
import { addMachineAgentCredential, createMachineAgent } from '../../src/contracts/machine-agents.ts'
import { newKeyPair } from '../support/machine-agents.ts'
import type { Row } from './notification-rows.ts'

/** One to work with, one to remove, a public key in a folder that is empty, and a credential that the client's token made. */
export async function makeMachineAgents(
  call: Call,
  byToken: Call,
  folder: string,
): Promise<Record<string, string>> {
  const [kept, removed] = [
    await call(createMachineAgent, { name: 'nightly' }),
    await call(createMachineAgent, { name: 'outdated' }),
  ]
  const jwk = join(folder, 'ci.jwk.json')
  writeFileSync(jwk, JSON.stringify(newKeyPair().jwk))
  const other = await call(createMachineAgent, { name: 'weekly' })
  const rotated = await byToken(addMachineAgentCredential, { machine_agent_id: other.id })
  return {
    machine: kept.id,
    credential: kept.credentials[0]!.id,
    outdated: removed.id,
    weekly: other.id,
    rotated: rotated.id,
    jwk,
  }
}

const NO_AGENT = 'mch_0mwhkcyh5nlh1pqqssy5gj19q'
const NO_CREDENTIAL = 'crd_0mwhkcyh5nlh1pqqssy5gj19q'
const NOBODY = 'usr_0mwhkcyh5nlh1pqqssy5gj19q'

export const MACHINE_AGENT_ROWS: Row[] = [
  [
    'agents machines',
    0,
    /^AGENT +NAME +STATE +ROLE[^]*\n\{machine\} +nightly +active +viewer +olga@example.com/,
  ],
  ['agents machines --search outdated --json', 0, /"id": "\{outdated\}"/],
  ['agents machines --limit x', 5, /Invalid value for --limit: x/],
  ['agents machines --context scoped', 3, /scopes of this token/],
  [
    'agents machines create reports --role developer --scope data:read --source db_sample',
    0,
    /client_id: +mch_\w+\nsecret: +svcm_\w{49}\n[^]*Store the secret now: it is not shown again/,
  ],
  ['agents machines create ci --public-key {jwk} --expires-at 2000-01-01', 5, /must be in the future/],
  ['agents machines create ci --public-key {jwk}', 0, /client_id: +mch_\w+\nexpires_at/],
  ['agents machines create ci --public-key - ', 5, /The public key is not a JSON object/, { stdin: 'a key' }],
  ['agents machines create ci --public-key - ', 5, /The public key is not a JSON object/, { stdin: '[]' }],
  ['agents machines create ci --public-key nowhere.json', 5, /Cannot read nowhere.json/],
  ['agents machines create ci --scope proposals:decide', 5, /Must be one of: data:read, /],
  ['agents machines create ci --role king', 5, /Must be one of: viewer, /],
  [`agents machines create ci --owner ${NOBODY}`, 4, /There is no such member/],
  ['agents machines create ci --context ro', 3, /error: /],
  ['agents machines show {machine}', 0, /credentials: +\{credential\} \(secret, svcm_\w{6}…\)/],
  [`agents machines show ${NO_AGENT}`, 4, /svc agents machines/],
  ['agents machines show', 5, /requires <machine_agent_id>/],
  ['agents machines update {machine} --name hourly', 0, /\{machine\} +hourly/],
  ['agents machines update {machine}', 5, /Nothing to change/],
  ['agents machines update {machine} --name x --context ro', 3, /error: /],
  [`agents machines update ${NO_AGENT} --name x`, 4, /svc agents machines/],
  ['agents machines add-credential {machine}', 0, /secret: +svcm_\w{49}[^]*not shown again/],
  ['agents machines add-credential {machine}', 6, /already has 2 secrets/],
  ['agents machines add-credential {machine} --public-key {jwk}', 0, /kind: +public_key\n/],
  [`agents machines add-credential ${NO_AGENT}`, 4, /svc agents machines/],
  ['agents machines add-credential {machine} --public-key nowhere.json', 5, /Cannot read nowhere.json/],
  [
    'agents machines rotate-credential {weekly} {rotated} --overlap 48',
    0,
    /secret: +svcm_\w{49}[^]*not shown again/,
  ],
  ['agents machines rotate-credential {weekly} {rotated}', 6, /Rotate the new one/],
  [
    'agents machines rotate-credential {weekly} {rotated} --overlap 169',
    5,
    /Invalid value for --overlap: 169/,
  ],
  ['agents machines rotate-credential {machine} {credential}', 3, /only credentials that were made with it/],
  [`agents machines rotate-credential {machine} ${NO_CREDENTIAL}`, 4, /Not found/],
  ['agents machines revoke-credential {machine} {credential}', 5, /Add --yes/],
  ['agents machines revoke-credential {machine} {credential} --yes', 0, /Revoked \{credential\}/],
  [`agents machines revoke-credential {machine} ${NO_CREDENTIAL} --yes`, 4, /Not found/],
  ['agents machines remove {outdated}', 5, /Add --yes/],
  ['agents machines remove {outdated} --yes', 0, /Removed \{outdated\}/],
  ['agents machines remove {outdated} --yes', 4, /svc agents machines/],
]

/** A line for every command that calls the server. */
export const MACHINE_AGENT_LINES = [
  'agents machines',
  'agents machines create x',
  'agents machines show {machine}',
  'agents machines update {machine} --name x',
  'agents machines add-credential {machine}',
  'agents machines rotate-credential {machine} {credential}',
  'agents machines revoke-credential {machine} {credential} --yes',
  'agents machines remove {machine} --yes',
]

export const MACHINE_AGENT_UNTRIED = {
  'agents machines create': { exits: [6], because: 'takes a hundred of them' },
}
