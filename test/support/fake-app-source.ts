/** The part of the fake gateway with the source of apps and its deployments. */
import type * as z from 'zod'
import * as deployments from '../../src/contracts/deployments.ts'
import { notFound } from '../../src/contracts/errors.ts'
import * as revisions from '../../src/contracts/revisions.ts'
import type { FakeContext } from './fake-data-sources.ts'

type Deployment = z.output<typeof deployments.showDeployment.output>
type Revision = z.output<typeof revisions.listRevisions.output>['revisions'][number]
type SourceFile = z.output<typeof revisions.readSourceFile.output>

export type FakeAppSource = ReturnType<typeof fakeAppSource>

export function fakeAppSource({ on, list, id, clock, me }: FakeContext) {
  const daysAgo = (days: number) => new Date(clock().getTime() - days * 86_400_000).toISOString()
  const data = {
    deployments: [] as Deployment[],
    output: '',
    revisions: [] as Revision[],
    files: [] as SourceFile[],
    diff: '',
  }
  const one = <Row extends { id: string }>(rows: readonly Row[], wanted: string): Row => {
    const found = rows.find((row) => row.id === wanted)
    if (!found) throw notFound()
    return found
  }
  on(revisions.listRevisions, (input) => ({
    ...(list('revisions', data.revisions, input) as object),
    head_id: data.revisions.find(({ is_head }) => is_head)?.id ?? null,
  }))
  on(revisions.showRevision, ({ revision_id }) => ({
    ...one(data.revisions, revision_id),
    tree: data.files,
  }))
  on(revisions.readSourceFile, ({ path }) => {
    const file = data.files.find((each) => each.path === path)
    if (!file) throw notFound()
    return file
  })
  on(revisions.diffRevisions, ({ revision_id }) => ({
    base: data.revisions.find((each) => each.id !== revision_id)?.id ?? null,
    diff: data.diff,
    diff_sha256: '0'.repeat(64),
    files: [{ path: 'src/orders.js', change: 'changed', added_lines: 1, removed_lines: 1 }],
  }))
  on(deployments.listDeployments, ({ state, ...input }) =>
    list(
      'deployments',
      data.deployments.filter((each) => !state || each.state === state),
      input,
    ),
  )
  on(deployments.showDeployment, ({ deployment_id }) => one(data.deployments, deployment_id))
  on(deployments.readDeploymentOutput, ({ deployment_id, after }) => ({
    text: data.output.slice(after),
    next: data.output.length,
    ended: one(data.deployments, deployment_id).ended_at !== null,
    dropped_bytes: 0,
  }))
  const queue = (revision_id: string): Deployment => {
    const queued: Deployment = {
      id: id('dep'),
      revision_id: one(data.revisions, revision_id).id,
      state: 'queued',
      code: null,
      exit_code: null,
      runner: null,
      requested_by: me.name,
      requested_at: daysAgo(0),
      started_at: null,
      ended_at: null,
      cancel_requested: false,
      blocks_next: false,
    }
    data.deployments.unshift(queued)
    return queued
  }
  on(deployments.createDeployment, ({ revision_id }) => queue(revision_id))
  on(deployments.rollBackDeployment, () => queue(data.revisions.at(-1)!.id))
  on(deployments.cancelDeployment, ({ deployment_id }) =>
    Object.assign(one(data.deployments, deployment_id), { cancel_requested: true }),
  )
  on(deployments.confirmDeploymentEnded, ({ deployment_id }) =>
    Object.assign(one(data.deployments, deployment_id), { blocks_next: false }),
  )
  on(deployments.reportBrokenRollout, ({ deployment_id }) =>
    Object.assign(one(data.deployments, deployment_id), { state: 'failed', code: 'ROLLOUT_FAILED' }),
  )
  return { data, daysAgo, id, me }
}

/** Two revisions of three files, and three deployments. */
export function seedAppSource({ data, daysAgo, id, me }: FakeAppSource): void {
  for (const [days, is_head] of [
    [2, true],
    [6, false],
  ] as const)
    data.revisions.push({
      id: id('rev'),
      tree_sha256: String(days).repeat(64),
      files: 3,
      bytes: 1_204,
      pushed_by: me.name,
      pushed_at: daysAgo(days),
      is_head,
    })
  for (const [path, text] of [
    ['README.md', '# The shop\n\nSells books.\n'],
    ['deploy.sh', '#!/bin/sh\nset -e\nsystemctl restart shop\n'],
    [
      'src/orders.js',
      'export const totalOf = (items) =>\n  items.reduce((sum, { price }) => sum + price, 0)\n',
    ],
  ] as const)
    data.files.push({
      path,
      sha256: '1'.repeat(64),
      bytes: text.length,
      executable: path.endsWith('.sh'),
      text,
    })
  data.diff = [
    'diff --git a/src/orders.js b/src/orders.js',
    '--- a/src/orders.js',
    '+++ b/src/orders.js',
    '@@ -1,2 +1,2 @@',
    ' export const totalOf = (items) =>',
    '-  items.reduce((sum, { cost }) => sum + cost, 0)',
    '+  items.reduce((sum, { price }) => sum + price, 0)',
    '',
  ].join('\n')
  data.output = '+ systemctl restart shop\nFailed to restart shop.service: Unit shop.service not found.\n'
  const [newer, older] = data.revisions.map((revision) => revision.id) as [string, string]
  const add = (revision_id: string, days: number, facts: Partial<Deployment> = {}) =>
    data.deployments.push({
      id: id('dep'),
      revision_id,
      state: 'succeeded',
      code: null,
      exit_code: 0,
      runner: 'web-1',
      requested_by: me.name,
      requested_at: daysAgo(days),
      started_at: daysAgo(days),
      ended_at: daysAgo(days),
      cancel_requested: false,
      blocks_next: false,
      ...facts,
    })
  add(newer, 2)
  add(newer, 2.1, { state: 'failed', code: 'BUILD_FAILED', exit_code: 5 })
  add(older, 6)
}
