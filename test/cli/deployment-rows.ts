/** Rows about deployments for the table of every command and every exit code. */
import { gzipSync } from 'node:zlib'
import type { Call } from '../../src/client/http-client.ts'
import { createApp } from '../../src/contracts/apps.ts'
import {
  claimDeployment,
  createDeployment,
  finishDeployment,
  reportDeploymentOutput,
} from '../../src/contracts/deployments.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { writeTar } from '../../src/contracts/write-tar.ts'
import type { Row } from './notification-rows.ts'

/** Two revisions of an app that succeeded one after the other, and two deployments that wait. */
export async function makeDeployments(make: Call): Promise<Record<string, string>> {
  const alias = 'deployed'
  await make(createApp, { alias, name: 'Deployed' })
  await make(createApp, { alias: 'bare', name: 'Bare' })
  const known: Record<string, string> = {}
  for (const name of ['first', 'second']) {
    const files = [{ path: 'name.txt', content: Buffer.from(name), isExecutable: false }]
    const { id: revision_id } = await make(pushRevision, { alias, body: gzipSync(writeTar(files)) })
    const { id: deployment_id } = await make(createDeployment, { alias, revision_id })
    const { fence } = await make(claimDeployment, { alias, runner: 'web-1' })
    const path = { alias, deployment_id, fence: fence! }
    await make(reportDeploymentOutput, { ...path, text: `built ${name}\n`, position: 0 })
    await make(finishDeployment, { ...path, exit_code: 0 })
    known['deployedrevision'] = revision_id
    known['succeeded'] = deployment_id
  }
  const revision_id = known['deployedrevision']!
  known['waiting'] = (await make(createDeployment, { alias, revision_id })).id
  known['queued'] = (await make(createDeployment, { alias, revision_id })).id
  return known
}

const NO_DEPLOYMENT = 'dep_0mwhkcyh5nlh1pqqssy5gj19q'
const NO_REVISION = 'rev_0mwhkcyh5nlh1pqqssy5gj19q'

export const DEPLOYMENT_ROWS: Row[] = [
  ['apps cancel deployed {queued}', 0, /cancelled/],
  ['apps cancel deployed {waiting} --only-queued', 0, /cancelled/],
  ['apps cancel deployed {succeeded}', 6, /has ended/],
  ['apps cancel deployed {succeeded} --only-queued', 6, /has ended/],
  [`apps cancel deployed ${NO_DEPLOYMENT}`, 4, /svc apps deployments/],
  ['apps cancel deployed', 5, /requires <deployment_id>/],
  ['apps cancel deployed {succeeded} --context scoped', 3, /scopes of this token/],
  ['apps deploy deployed {deployedrevision}', 0, /^DEPLOYMENT +REVISION +STATE[^]*queued[^]*--follow/],
  [`apps deploy deployed ${NO_REVISION}`, 4, /error: /],
  ['apps deploy deployed', 5, /requires <revision_id>/],
  ['apps deploy deployed {deployedrevision} --context scoped', 3, /scopes of this token/],
  ['apps runner deployed --once', 5, /Missing option: --exec/],
  ['apps runner deployed --exec true --command-timeout 0', 5, /--command-timeout/],
  ['apps runner nothing --exec true --once', 4, /svc apps list/],
  ['apps runner deployed --exec true --once --context scoped', 3, /scopes of this token/],
  ['apps runner deployed --once --exec=cat<name.txt', 0, /^second[^]*: succeeded/],
  ['apps rollback deployed', 5, /Add --yes/],
  ['apps rollback deployed --yes', 0, /queued/],
  ['apps runner deployed --once --exec false', 11, /failed, BUILD_FAILED/],
  ['apps rollback bare --yes', 6, /No other revision/],
  ['apps rollback nothing --yes', 4, /svc apps list/],
  ['apps rollback deployed --yes --context scoped', 3, /scopes of this token/],
  ['apps deployments deployed', 0, /^DEPLOYMENT[^]*failed +BUILD_FAILED[^]*succeeded/],
  ['apps deployments deployed --state cancelled --json', 0, /"state": "cancelled"/],
  ['apps deployments deployed --state gone', 5, /Must be one of: queued/],
  ['apps deployments nothing', 4, /svc apps list/],
  ['apps deployments deployed --context scoped', 3, /scopes of this token/],
  ['apps deployments output deployed {succeeded}', 0, /^built second\n/],
  ['apps deployments output deployed {succeeded} --follow', 0, /^built second\n[^]*succeeded/],
  ['apps deployments output deployed {queued} --follow', 11, /cancelled/],
  [
    'apps deployments output deployed {succeeded} --json',
    0,
    /^\{\n {2}"text": "built second\\n",\n {2}"ended": true/,
  ],
  ['apps deployments output deployed {succeeded} -o yaml', 0, /^text: /],
  [
    'apps deployments output deployed {succeeded} --follow --json',
    0,
    /^\{"text":"built second\\n"\}\n\{"state":"succeeded","code":null,"exit_code":0,"dropped_bytes":0\}\n/,
  ],
  ['apps deployments output deployed {succeeded} --follow -o yaml', 5, /--follow conflicts with -o yaml/],
  [`apps deployments output deployed ${NO_DEPLOYMENT}`, 4, /svc apps deployments/],
  ['apps deployments output deployed', 5, /requires <deployment_id>/],
  ['apps deployments output deployed {succeeded} --context scoped', 3, /scopes of this token/],
  ['apps deployments confirm-ended deployed {succeeded}', 5, /Add --yes/],
  ['apps deployments confirm-ended deployed {succeeded} --yes', 6, /was not lost/],
  [`apps deployments confirm-ended deployed ${NO_DEPLOYMENT} --yes`, 4, /svc apps deployments/],
  ['apps deployments confirm-ended deployed {succeeded} --yes --context scoped', 3, /scopes of this token/],
  ['apps deployments report-broken deployed {succeeded}', 0, /failed +ROLLOUT_FAILED/],
  ['apps deployments report-broken deployed {queued}', 6, /Only a deployment that has succeeded/],
  [`apps deployments report-broken deployed ${NO_DEPLOYMENT}`, 4, /svc apps deployments/],
  ['apps deployments report-broken deployed', 5, /requires <deployment_id>/],
  ['apps deployments report-broken deployed {succeeded} --context scoped', 3, /scopes of this token/],
]

/** A line for every command that calls the server and gives up when it does not answer. */
export const DEPLOYMENT_LINES = [
  `apps deploy deployed ${NO_REVISION}`,
  'apps deployments deployed',
  'apps rollback deployed --yes',
  `apps cancel deployed ${NO_DEPLOYMENT}`,
  `apps deployments output deployed ${NO_DEPLOYMENT}`,
  `apps deployments confirm-ended deployed ${NO_DEPLOYMENT} --yes`,
  `apps deployments report-broken deployed ${NO_DEPLOYMENT}`,
]

export const DEPLOYMENT_UNTRIED: Record<string, { exits: number[]; because: string }> = {
  'apps deploy': {
    exits: [6],
    because: 'needs as many waiting deployments as an app may have: test/walks/deployments.test.ts',
  },
  'apps deployments confirm-ended': {
    exits: [0],
    because: 'needs a runner that was lost: test/long/runner.test.ts',
  },
}
