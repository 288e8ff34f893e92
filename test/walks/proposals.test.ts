/** Proposals of the maintenance agent: what it may propose, who decides, and what becomes of it. */
import { randomUUID } from 'node:crypto'
import { and, count, eq, sql } from '../../db/drizzle.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import {
  appMembers,
  apps,
  auditLog,
  deployments,
  events,
  findings,
  maintenanceChanges,
  maintenanceSettings,
  outbox,
  proposals,
  revisions,
  runEvidence,
} from '../../db/schema.ts'
import type { Call } from '../../src/client/http-client.ts'
import { ToolRefused, type Edit } from '../../src/contracts/agent-tools.ts'
import { setAppMember } from '../../src/contracts/apps.ts'
import * as deploy from '../../src/contracts/deployments.ts'
import { ServiceError } from '../../src/contracts/errors.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { SOURCE_RETENTION } from '../../src/contracts/limits.ts'
import { listLogs, pushLogs } from '../../src/contracts/logs.ts'
import { updateMachineAgent } from '../../src/contracts/machine-agents.ts'
import {
  showAppMaintenance,
  showMaintenanceSettings,
  showMaintenanceRun,
  showRunEvidence,
  listFindings,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import {
  approveProposal,
  denyProposal,
  downloadProposalPatch,
  showProposal,
  listProposalQueue,
  listProposals,
  retryProposal,
} from '../../src/contracts/proposals.ts'
import {
  downloadRevision,
  findMissingFiles,
  listRevisions,
  pushRevision,
} from '../../src/contracts/revisions.ts'
import { elevateSupportSession, startSupportSession } from '../../src/contracts/support.ts'
import { priorFindings } from '../../src/cores/agent-tools/prior-findings.ts'
import { Fenced, sweepMaintenance, type RunKey } from '../../src/cores/maintenance/index.ts'
import { shipOutbox } from '../../src/cores/outbox.ts'
import { measureFixes } from '../../src/cores/proposals/index.ts'
import { sweepRevisions } from '../../src/cores/revisions/index.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { insertProposal } from '../support/insert-proposal.ts'
import { makeMachineAgent } from '../support/machine-agents.ts'
import { makeApiToken, makeMember, makeOrganization, type Org, type Person } from '../support/make.ts'
import { endAs, makeMaintainedApp, storageOf, turnOn } from '../support/maintenance.ts'
import {
  agentOf,
  find,
  linesRead,
  logRead,
  makeProposal,
  MODEL,
  MODELS,
  propose,
  read,
  startRun,
  type Agent,
} from '../support/proposals.ts'
import { archiveOf, sha256, treeIn, type Tree } from '../support/source.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

const SUM = 'export const sum = (items) =>\n  items.reduce((total, { price }) => total + price, 0)\n'
const TREE: Tree = {
  'src/sum.js': SUM,
  'src/other.js': 'export const other = 1\n',
  'package.json': '{ "name": "shop" }\n',
  '.env': 'KEY=1\n',
}
const REPAIR = { path: 'src/sum.js', old_text: 'total + price', new_text: 'total + (price ?? 0)' }
const LOG_LINE = `lgl_${'0'.repeat(24)}1`

let system: TestSystem
let agent: Agent
let [org, other]: Org[] = []
let [admin, developer, viewer]: Person[] = []
let alias: string
let appId: string

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api', ...MODELS })
  agent = agentOf(system)
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  ;[admin, developer, viewer] = [
    await makeMember(system, org, 'admin'),
    await makeMember(system, org, 'developer'),
    await makeMember(system, org, 'viewer'),
  ]
  for (const one of [org, other]) await turnOn(one, { model: MODEL, cooldown_hours: 0 })
})
afterAll(async () => {
  await agent.close()
  await system.stop()
})
beforeEach(async () => {
  ;({ alias, id: appId } = await makeMaintainedApp(org!))
  // Whoever turned it on did so days ago.
  await system.db.delete(maintenanceChanges)
  await push(TREE)
})

const owner: Call = (...given) => org!.owner.call(...given)
const as = (person: Person | undefined, { id } = org!): Call =>
  system.as({ token: person!.token, organization: id })
const push = (tree: Tree) => owner(pushRevision, { alias, body: archiveOf(tree) })
const pushAs = (tree: Tree, from: { base_revision?: string; replace?: string }) =>
  owner(pushRevision, { alias, body: archiveOf(tree), ...from })
const headOf = async () => (await owner(listRevisions, { alias })).head_id
const show = (id: string, by = owner) => by(showProposal, { alias, proposal_id: id })
const make = (by?: Call) =>
  makeProposal(system, agent, {
    call: owner,
    alias,
    ...(by && { by }),
    path: REPAIR.path,
    text: SUM,
    old: REPAIR.old_text,
    now: REPAIR.new_text,
  })
const asked = async (id: string) => ({ alias, proposal_id: id, diff_sha256: (await show(id)).diff_sha256 })
const approve = async (id: string, by = as(admin)) => by(approveProposal, await asked(id))
const deny = async (id: string, by = as(admin)) => by(denyProposal, await asked(id))
const retry = async (id: string, by = as(admin)) => by(retryProposal, await asked(id))
const rows = async () =>
  (await system.db.select({ n: count() }).from(proposals).where(eq(proposals.appId, appId)))[0]!.n

/** Code and reasons of a refusal. */
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it was not refused'),
    (error: unknown) => {
      if (!(error instanceof ServiceError)) throw error
      return [error.code, ...(error.problems ?? []).map((problem) => problem.split(':')[0])]
    },
  )
const refusedCode = (work: Promise<unknown>) =>
  work.then(
    () => 'ok',
    (error: unknown) => {
      if (error instanceof ToolRefused) return error.code
      if (error instanceof Fenced) return 'FENCED'
      throw error
    },
  )
const eventsOf = async (id: string) =>
  (
    await system.db
      .select({ type: outbox.type, data: outbox.data, actorId: outbox.actorId })
      .from(outbox)
      .where(eq(outbox.subject, `proposals/${id}`))
      .orderBy(outbox.seq)
  ).map(({ type, ...rest }) => ({ type: type.replace('application.maintenance.proposal.', ''), ...rest }))
const shippedOf = async (id: string) => {
  while ((await shipOutbox(storageOf(system))) > 0);
  const shipped = await system.db
    .select({ type: events.type })
    .from(events)
    .where(eq(events.subject, `proposals/${id}`))
    .orderBy(events.seq)
  return shipped.map(({ type }) => type.replace('application.maintenance.proposal.', ''))
}
const auditOf = async (action: 'proposal.approved' | 'proposal.denied' | 'proposal.retried', id: string) =>
  (
    await system.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.orgId, org!.id), eq(auditLog.action, action)))
  )
    .filter(({ subject }) => subject?.includes(id))
    .map(({ subject, actorKind, actorId }) => ({ subject, actorKind, actorId }))
const claim = async () => {
  const { deployment, fence } = await owner(deploy.claimDeployment, { alias, runner: 'r' })
  return { deployment_id: deployment!.id, fence: fence! }
}
const finish = async (exit_code: number) =>
  owner(deploy.finishDeployment, { alias, ...(await claim()), exit_code })

describe('a proposal', () => {
  test('is a server’s diff between two revisions, with evidence, and is told of once', async () => {
    const before = await headOf()
    const { id, run, fingerprint } = await make()
    const shown = await show(id)
    expect(shown).toMatchObject({
      app: alias,
      state: 'ready',
      title: 'Repair the sum',
      author: 'Maintenance agent',
      execution_id: run.executionId,
      requested_by: null,
      fingerprint,
      base_revision_id: before,
      files_changed: 1,
      added_lines: 1,
      removed_lines: 1,
      files: [{ path: 'src/sum.js', change: 'changed', added_lines: 1, removed_lines: 1 }],
      flags: [],
      undone: false,
      decided: null,
      deployment_id: null,
      evidence: [{ kind: 'file', ref: 'file:src/sum.js#L1-L2', sha256: sha256(SUM.trimEnd()) }],
    })
    expect(shown.diff).toContain('+  items.reduce((total, { price }) => total + (price ?? 0), 0)\n')
    expect(shown.diff_sha256).toBe(sha256(shown.diff!))
    expect(await headOf()).toBe(before)
    const { body } = await owner(downloadProposalPatch, { alias, proposal_id: id })
    expect(sha256(body)).toBe(shown.diff_sha256)
    expect(await eventsOf(id)).toEqual([{ type: 'created', data: { proposal_id: id }, actorId: null }])
    expect((await owner(listProposals, { alias, count: 'true' })).proposals.map((one) => one.id)).toEqual([
      id,
    ])
    const queue = await owner(listProposalQueue, { org_id: org!.id, limit: 200 })
    expect(queue.proposals.find((one) => one.id === id)).toMatchObject({ app: alias, state: 'ready' })
  })

  test('that is approved takes the way of any other change, and stands as its deployment does', async () => {
    const { id, fingerprint } = await make()
    const approved = await approve(id)
    expect(approved).toMatchObject({
      state: 'approved',
      decided: { approved: true, by: admin!.name, user_id: admin!.userId, token: null },
    })
    expect(await headOf()).toBe(approved.new_revision_id)
    const deployment = await owner(deploy.showDeployment, { alias, deployment_id: approved.deployment_id! })
    expect(deployment).toMatchObject({
      state: 'queued',
      revision_id: approved.new_revision_id,
      requested_by: admin!.name,
    })
    expect(await eventsOf(id)).toMatchObject([
      { type: 'created' },
      { type: 'approved', data: { proposal_id: id }, actorId: admin!.userId },
    ])
    expect(await auditOf('proposal.approved', id)).toEqual([
      { subject: `${alias}: ${id}`, actorKind: 'user', actorId: admin!.userId },
    ])
    const claimed = await claim()
    expect((await show(id)).state).toBe('deploying')
    await owner(deploy.finishDeployment, { alias, ...claimed, exit_code: 0 })
    expect((await show(id)).state).toBe('deployed')
    const finding = async () =>
      (await owner(listFindings, { alias })).findings.find((one) => one.fingerprint === fingerprint)?.state
    expect(await finding()).toBe('resolved')
    await owner(deploy.reportBrokenRollout, { alias, deployment_id: claimed.deployment_id })
    expect([(await show(id)).state, await finding()]).toEqual(['failed', 'open'])
  })

  test('that is denied leaves the app as it is', async () => {
    const before = await headOf()
    const { id, fingerprint } = await make()
    expect(await deny(id)).toMatchObject({ state: 'denied', decided: { approved: false, by: admin!.name } })
    expect([await headOf(), (await owner(deploy.listDeployments, { alias })).deployments]).toEqual([
      before,
      [],
    ])
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['created', 'denied'])
    expect(await auditOf('proposal.denied', id)).toHaveLength(1)
    expect((await owner(listFindings, { alias, state: 'quiet' })).findings).toMatchObject([{ fingerprint }])
  })

  test('is stale from the moment somebody pushes, and a push that undoes one says so', async () => {
    const { id } = await make()
    const beside = await makeMaintainedApp(org!)
    const { id: theirs } = await insertProposal(system, { orgId: org!.id, id: beside.id })
    await push({ ...TREE, 'new.txt': 'x' })
    expect(await show(id)).toMatchObject({
      state: 'stale',
      decision: { can: { approve: false, deny: true, retry: true } },
    })
    // Nothing was pushed to the other app.
    const given = { alias: beside.alias, proposal_id: theirs }
    expect((await owner(showProposal, given)).state).toBe('ready')
    expect(await refusal(approve(id))).toEqual(['CONFLICT', 'STALE'])
    // It waits for somebody still, and what it is about is open again.
    const queue = await owner(listProposalQueue, { org_id: org!.id, limit: 200 })
    expect(queue.proposals.map((one) => one.id)).toContain(id)
    expect(await owner(showAppMaintenance, { alias })).toMatchObject({ open_findings: 1, open_proposals: 1 })
    const again = await retry(id)
    expect(again).toMatchObject({ state: 'ready', base_revision_id: await headOf() })
    expect(await owner(showAppMaintenance, { alias })).toMatchObject({ open_findings: 0, open_proposals: 1 })
  })

  const FIXED = SUM.replace(REPAIR.old_text, REPAIR.new_text)
  const findingOf = async (fingerprint: string) =>
    (await owner(listFindings, { alias })).findings.find((one) => one.fingerprint === fingerprint)
  const deployed = async () => {
    const { id, fingerprint, execution_id } = await show((await make()).id)
    await approve(id)
    await owner(deploy.finishDeployment, { alias, ...(await claim()), exit_code: 0 })
    return { id, fingerprint, execution_id }
  }

  test.runIf(inject('everyCase'))(
    'that was approved is not undone by a push that did not have it',
    async () => {
      const { id, fingerprint, execution_id } = await deployed()
      const head = (await headOf())!
      // Another change of the same file, and of another one: neither hides it.
      const without = { ...TREE, 'src/sum.js': `// Prices.\n${SUM}`, 'new.txt': 'y' }
      expect(await refusal(push(without))).toEqual(['HEAD_MOVED', id])
      expect([await headOf(), (await show(id)).undone]).toEqual([head, false])
      expect(await push({ ...without, 'src/sum.js': `// Prices.\n${FIXED}` })).toMatchObject({ undoes: [] })

      const replaced = await pushAs(without, { replace: 'true' })
      expect(replaced).toMatchObject({ undoes: [id], is_head: true })
      expect(await show(id)).toMatchObject({ state: 'deployed', undone: true, undone_by: replaced.id })
      expect(await findingOf(fingerprint)).toMatchObject({ state: 'open', reopened_by: replaced.id })
      expect(await owner(showMaintenanceRun, { alias, execution_id })).toMatchObject({
        undone_by: replaced.id,
      })
      // Said once; and a push that has it again takes the mark away, and the finding is as it was.
      expect(await push({ ...without, 'new.txt': 'z' })).toMatchObject({ undoes: [] })
      await push({ ...TREE, 'src/sum.js': FIXED })
      expect(await show(id)).toMatchObject({ undone: false, undone_by: null })
      expect(await findingOf(fingerprint)).toMatchObject({ state: 'resolved', reopened_by: null })
      // Also whoever pushes from the head ends a fix by that word alone.
      const from = { base_revision: (await headOf())! }
      expect(await refusal(pushAs(without, from))).toEqual(['HEAD_MOVED', id])
    },
  )

  test.runIf(inject('everyCase'))(
    'that was approved is followed where its file is renamed, as it is or changed on the way',
    async () => {
      const { id } = await deployed()
      const without = (path: string, text: string): Tree => {
        const { 'src/sum.js': _moved, ...rest } = TREE
        return { ...rest, [path]: text }
      }
      // Renamed and undone in one push.
      expect(await refusal(push(without('src/total.js', `// Prices.\n${SUM}`)))).toEqual(['HEAD_MOVED', id])
      // Renamed as it was, then changed on the way to a third name: nothing is lost.
      expect(await push(without('src/total.js', FIXED))).toMatchObject({ undoes: [] })
      expect(await push(without('lib/total.js', `// Prices.\n${FIXED}`))).toMatchObject({ undoes: [] })
      expect((await show(id)).undone).toBe(false)
      // Undone under the name that it has by now.
      expect(await refusal(push(without('lib/total.js', SUM)))).toEqual(['HEAD_MOVED', id])
      const replaced = await pushAs(without('lib/total.js', SUM), { replace: 'true' })
      expect(await show(id)).toMatchObject({ undone: true, undone_by: replaced.id })
      // And there again, under the name of before.
      await push({ ...TREE, 'src/sum.js': FIXED })
      expect((await show(id)).undone).toBe(false)
    },
  )

  test('that a push has undone is open until another one restores it, deployed or not, and can be made anew', async () => {
    const { id, fingerprint, execution_id } = await show((await make()).id)
    await approve(id)
    const now = async () => [(await show(id)).undone, (await findingOf(fingerprint))!.state]
    const undo = () => pushAs(TREE, { replace: 'true' })
    await undo()
    expect(await now()).toEqual([true, 'open'])
    // What never ran has resolved nothing; from then on it is measured anew.
    await push({ ...TREE, 'src/sum.js': FIXED })
    expect(await now()).toEqual([false, 'open'])
    const isIt = eq(proposals.id, id)
    const [restored] = await system.db.select().from(proposals).where(isIt)
    expect(restored!.restoredAt).not.toBeNull()
    const { id: by } = await undo()
    await owner(deploy.finishDeployment, { alias, ...(await claim()), exit_code: 0 })
    expect([(await show(id)).state, ...(await now())]).toEqual(['deployed', true, 'open'])

    const stale = { state: 'stale', undoneBy: by } as const
    await system.db.update(proposals).set(stale).where(isIt)
    expect(await retry(id)).toMatchObject({ state: 'ready', undone_by: null })
    expect((await owner(showMaintenanceRun, { alias, execution_id })).undone_by).toBeNull()
    // And by another run, of another day.
    await system.db
      .update(proposals)
      .set({ ...stale, day: '2026-01-01' })
      .where(isIt)
    expect((await make()).id).toBe(id)
    expect(await show(id)).toMatchObject({ state: 'ready', undone_by: null })
  })

  test.runIf(inject('everyCase'))(
    'that was approved ends open when its push was undone before it was deployed',
    async () => {
      const { id, fingerprint } = await show((await make()).id)
      await approve(id)
      await pushAs(TREE, { replace: 'true' })
      await owner(deploy.finishDeployment, { alias, ...(await claim()), exit_code: 0 })
      expect([(await show(id)).state, (await findingOf(fingerprint))?.state]).toEqual(['deployed', 'open'])
    },
  )

  test.runIf(inject('everyCase'))(
    'and whatever others pushed since is compared with the revision that a push was made from',
    async () => {
      const base = (await headOf())!
      const theirs = await pushAs(
        { ...TREE, 'src/other.js': 'export const other = 2\n' },
        { base_revision: base },
      )
      const mine = { ...TREE, 'mine.txt': 'mine' }
      expect(await refusal(pushAs(mine, { base_revision: base }))).toEqual(['HEAD_MOVED', '"src/other.js"'])
      expect(await headOf()).toBe(theirs.id)
      // Made from the head, it is whoever pushes who changed it.
      expect(await pushAs(mine, { base_revision: theirs.id })).toMatchObject({ is_head: true })
      // With theirs in it, it matters not what it was made from.
      const both = { ...mine, 'src/other.js': 'export const other = 2\n' }
      expect(await pushAs(both, { base_revision: base })).toMatchObject({ is_head: true })

      const { id: foreign } = await other!.owner.call(pushRevision, {
        alias: (await makeMaintainedApp(other!)).alias,
        body: archiveOf(TREE),
        replace: 'false',
      })
      const proposed = await make()
      for (const base_revision of [
        'rev_0000000000000000000000000',
        foreign,
        (await show(proposed.id)).new_revision_id,
      ]) {
        expect(await refusal(pushAs(mine, { base_revision }))).toEqual(['INVALID_REQUEST', 'base_revision'])
      }
      expect(await pushAs(mine, { base_revision: base, replace: 'true' })).toMatchObject({ is_head: true })
    },
  )
})

describe('a change that the agent may not propose', () => {
  let run: RunKey
  beforeEach(async () => {
    run = await startRun(system, owner, alias)
    await read(
      agent,
      run,
      linesRead('src/sum.js', SUM.trimEnd()),
      linesRead('src/other.js', TREE['src/other.js']!.trimEnd()),
    )
  })
  const evidence = ['file:src/sum.js#L1-L2']
  const attempt = (...edits: Edit[]) => refusedCode(propose(agent, run, { evidence, edits }))

  // In one app and one run: each is refused, and leaves nothing behind.
  const REFUSED: [string, string, Edit[]][] = [
    [
      'touches what is protected',
      'PROTECTED_PATH',
      [{ path: '.github/workflows/ci.yml', create: 'on: push\n' }],
    ],
    ['touches a secret', 'PROTECTED_PATH', [{ path: '.env', old_text: 'KEY=1', new_text: 'KEY=2' }]],
    ['leaves the tree', 'EDIT_DOES_NOT_APPLY', [{ path: '../x', create: 'x' }]],
    ['is absolute', 'EDIT_DOES_NOT_APPLY', [{ path: '/etc/passwd', create: 'x' }]],
    ['hides in a name', 'EDIT_DOES_NOT_APPLY', [{ path: 'src/\u202ea.js', create: 'x' }]],
    ['collides with a file', 'EDIT_DOES_NOT_APPLY', [{ path: 'SRC/sum.js', create: 'x' }]],
    ['lies below a file', 'EDIT_DOES_NOT_APPLY', [{ path: 'src/sum.js/x', create: 'x' }]],
    ['fits nowhere', 'EDIT_DOES_NOT_APPLY', [{ ...REPAIR, old_text: 'nothing of the kind' }]],
    ['fits twice', 'EDIT_DOES_NOT_APPLY', [{ ...REPAIR, old_text: 'total' }]],
    ['changes nothing', 'NO_CHANGE', [{ ...REPAIR, new_text: REPAIR.old_text }]],
    [
      'has eleven files',
      'CHANGE_TOO_LARGE',
      Array.from({ length: 11 }, (_, n) => ({ path: `f${n}`, create: 'x\n' })),
    ],
    ['has too many lines', 'CHANGE_TOO_LARGE', [{ path: 'long.txt', create: 'x\n'.repeat(401) }]],
    [
      'has a line that nobody reads to its end',
      'CHANGE_TOO_LARGE',
      [{ path: 'x.js', create: ' '.repeat(501) }],
    ],
    ['has too many bytes', 'CHANGE_TOO_LARGE', [{ path: 'long.txt', create: 'x'.repeat(64 * 1024 + 1) }]],
    [
      'edits what it has not read',
      'EVIDENCE_NOT_READ',
      [{ path: 'package.json', old_text: 'shop', new_text: 'shup' }],
    ],
  ]

  test('is refused with a code, whatever is wrong with it, and nothing is written', async () => {
    for (const [what, code, edits] of REFUSED) expect(await attempt(...edits), what).toBe(code)
    expect(await rows()).toBe(0)
    expect((await owner(listRevisions, { alias })).revisions).toHaveLength(1)
  })

  test('touches what the organization protects', async () => {
    await owner(updateMaintenanceSettings, { org_id: org!.id, protected_paths: ['src/**'] })
    expect(await attempt(REPAIR)).toBe('PROTECTED_PATH')
    await owner(updateMaintenanceSettings, { org_id: org!.id, protected_paths: [] })
    expect(await attempt(REPAIR)).toBe('ok')
  })

  test('cites what this run has not read, or another run has', async () => {
    const foreign = await makeMaintainedApp(other!)
    const elsewhere = await startRun(system, other!.owner.call, foreign.alias)
    await read(agent, elsewhere, logRead(LOG_LINE, 'a secret of somebody else'))
    for (const ref of [
      `log:${LOG_LINE}`,
      'file:src/sum.js#L1-L3',
      'file:package.json#L1-L1',
      'file:src/sum.js#L2-L1',
    ]) {
      expect(await refusedCode(propose(agent, run, { evidence: [ref], edits: [REPAIR] })), ref).toBe(
        'EVIDENCE_NOT_READ',
      )
    }
    expect(await rows()).toBe(0)
    await endAs(system, elsewhere, 'found_nothing')
  })

  test('comes after somebody pushed, or turned it off', async () => {
    await push({ ...TREE, 'new.txt': 'x' })
    expect(await attempt(REPAIR)).toBe('EDIT_DOES_NOT_APPLY')
    await owner(updateAppMaintenance, { alias, enabled: false })
    expect(await attempt(REPAIR)).toBe('FENCED')
    expect(await refusedCode(find(agent, run, { kind: 'error', summary: 'x', evidence }))).toBe('FENCED')
    expect(await rows()).toBe(0)
  })

  test('is that of a run that is stopped then: the run names it all the same', async () => {
    expect(await attempt(REPAIR)).toBe('ok')
    await owner(updateAppMaintenance, { alias, enabled: false })
    const [{ id } = { id: '' }] = (await owner(listProposals, { alias })).proposals
    expect(await owner(showMaintenanceRun, { alias, execution_id: run.executionId })).toMatchObject({
      terminal_code: 'fenced_disabled',
      proposal_id: id,
    })
  })

  test.runIf(inject('everyCase'))('is a second one of the day: it is recorded as a finding', async () => {
    await attempt(REPAIR)
    const second = { path: 'src/other.js', old_text: 'other = 1', new_text: 'other = 2' }
    const other = ['file:src/other.js#L1-L1']
    expect(await refusedCode(propose(agent, run, { evidence: other, edits: [second] }))).toBe(
      'PROPOSAL_LIMIT',
    )
    expect(await rows()).toBe(1)
    expect((await owner(listFindings, { alias })).findings.map(({ state }) => state)).toEqual([
      'open',
      'proposed',
    ])
  })

  test('is a second one of the day by the time zone of the organization, and of no other', async () => {
    expect(await attempt(REPAIR)).toBe('ok')
    const second = { path: 'src/other.js', old_text: 'other = 1', new_text: 'other = 2' }
    const again = () =>
      refusedCode(propose(agent, run, { evidence: ['file:src/other.js#L1-L1'], edits: [second] }))
    const setZone = ({ id: org_id, owner: { call } }: Org, timezone: string) =>
      call(updateMaintenanceSettings, { org_id, timezone })
    await setZone(other!, 'Pacific/Kiritimati')
    expect(await again()).toBe('PROPOSAL_LIMIT')
    // There it is tomorrow.
    await setZone(org!, 'Pacific/Kiritimati')
    expect(await again()).toBe('ok')
    await setZone(org!, 'UTC')
  })
})

describe('who decides', () => {
  test('not whoever started the run: another owner or admin', async () => {
    const { id } = await make(as(admin))
    expect(await show(id, as(admin))).toMatchObject({
      requested_by: { user_id: admin!.userId, name: admin!.name },
      decision: {
        eligible: false,
        can: { approve: false, deny: true, retry: false },
        reasons: { approve: [{ code: 'REQUESTER' }], deny: [], retry: [{ code: 'NOTHING_TO_RETRY' }] },
      },
    })
    expect(await refusal(approve(id))).toEqual(['FORBIDDEN', 'REQUESTER'])
    expect(await approve(id, owner)).toMatchObject({ state: 'approved' })
  })

  test('not whoever answered for the machine agent that started it, and has handed it on since', async () => {
    const { id } = await make(as(admin))
    const machine = await makeMachineAgent(admin!, { owner_id: org!.owner.userId })
    await as(admin)(updateMachineAgent, { machine_agent_id: machine.id, owner_id: admin!.userId })
    const startedBy = (requestedById: string) =>
      system.db.update(proposals).set({ requestedById }).where(eq(proposals.id, id))
    await startedBy(machine.user_id)
    expect(await refusal(approve(id, owner))).toEqual(['FORBIDDEN', 'REQUESTER'])
    await startedBy(admin!.userId)
    expect(await approve(id, owner)).toMatchObject({ state: 'approved' })
  })

  test('not whoever changed schedule, model, allowance or switch within a day before the run', async () => {
    const change = (given: object, by: Call = owner) =>
      by(updateMaintenanceSettings, { org_id: org!.id, ...given })
    // What decides nothing about runs makes nobody a requester.
    await change({ cooldown_hours: 1 })
    await change({ cooldown_hours: 0 })
    expect((await show((await make(as(admin))).id)).settings_changed_by).toEqual([])

    ;({ alias, id: appId } = await makeMaintainedApp(org!))
    await system.db.delete(maintenanceChanges)
    await push(TREE)
    await other!.owner.call(updateMaintenanceSettings, { org_id: other!.id, token_allowance: 190_001 })
    const changed = await change({ token_allowance: 190_000 }, as(admin))
    expect(Date.parse(changed.you_decide_from!) - system.clock.now().getTime()).toBeGreaterThan(82_000_000)
    expect((await owner(showMaintenanceSettings, { org_id: org!.id })).you_decide_from).toBeNull()
    const { id } = await make()
    expect(await show(id)).toMatchObject({ settings_changed_by: [{ name: admin!.name }] })
    expect(await refusal(approve(id))).toEqual(['FORBIDDEN', 'REQUESTER'])
    expect(await approve(id, owner)).toMatchObject({ state: 'approved' })
    // Also since the run was queued: it is done by the settings of that moment.
    ;({ alias, id: appId } = await makeMaintainedApp(org!))
    await system.db.delete(maintenanceChanges)
    await push(TREE)
    const run = await startRun(system, owner, alias)
    await change({ token_allowance: 189_000 }, as(admin))
    await read(agent, run, linesRead('src/sum.js', SUM.trimEnd()))
    const late = await propose(agent, run, { evidence: ['file:src/sum.js#L1-L2'], edits: [REPAIR] })
    expect(await show(late.proposal_id)).toMatchObject({ settings_changed_by: [{ name: admin!.name }] })
    // What nobody may touch any more decides nothing about a run; what is opened again does.
    await system.db.delete(maintenanceChanges)
    const closed = await change({ protected_paths: ['infra'] }, as(admin))
    expect(closed.you_decide_from).toBeNull()
    expect((await change({ protected_paths: [] }, as(admin))).you_decide_from).not.toBeNull()
    // Of the app itself as well, and not of another one.
    const own = await makeMaintainedApp(org!)
    const next = await makeMaintainedApp(org!)
    await system.db.delete(maintenanceChanges)
    for (const enabled of [false, true]) await as(admin)(updateAppMaintenance, { alias: own.alias, enabled })
    for (const [app, names] of [
      [own, [admin!.name]],
      [next, []],
    ] as const) {
      ;({ alias, id: appId } = app)
      await push(TREE)
      const { settings_changed_by } = await show((await make()).id)
      expect(settings_changed_by.map(({ name }) => name)).toEqual(names)
    }
    // The other admins are told, and not whoever did it.
    const told = await system.db
      .select({ actor: outbox.actorId, type: outbox.type })
      .from(outbox)
      .where(and(eq(outbox.orgId, org!.id), eq(outbox.type, 'org.maintenance.changed')))
    expect(told.map(({ actor }) => actor)).toContain(admin!.userId)
    await change({ token_allowance: 200_000 })
  })

  test('with a note, which people see and the next run reads as data', async () => {
    const { id } = await make()
    const given = { ...(await asked(id)), note: ' Needs a test.\u001b[2J password=hunter2 ' }
    expect(await as(admin)(denyProposal, given)).toMatchObject({
      decided: { approved: false, note: 'Needs a test. password=[hidden]' },
    })
    expect(await refusal(as(admin)(denyProposal, { ...given, note: 'x'.repeat(501) }))).toEqual([
      'INVALID_REQUEST',
      'note',
    ])
    const { result } = await priorFindings(agent as never, { orgId: org!.id, appId } as never, {})
    expect(result.findings).toMatchObject([
      { state: 'quiet', decision: { approved: false, note: 'Needs a test. password=[hidden]' } },
    ])
  })

  test('nobody below admin, and nobody of another organization', async () => {
    const { id } = await make()
    for (const person of [viewer, developer]) {
      expect((await show(id, as(person))).decision).toMatchObject({
        eligible: false,
        reasons: { approve: [{ code: 'ROLE' }], deny: [{ code: 'ROLE' }] },
      })
      expect(await refusal(approve(id, as(person)))).toEqual(['FORBIDDEN', 'ROLE'])
      expect(await refusal(deny(id, as(person)))).toEqual(['FORBIDDEN', 'ROLE'])
    }
    const theirs = { alias, proposal_id: id }
    expect(await refusal(other!.owner.call(showProposal, theirs))).toEqual(['NOT_FOUND'])
    expect(await refusal(other!.owner.call(downloadProposalPatch, theirs))).toEqual(['NOT_FOUND'])
    expect(await refusal(other!.owner.call(approveProposal, await asked(id)))).toEqual(['NOT_FOUND'])
    // Nor by way of an app of theirs that has the same name.
    await makeMaintainedApp(other!, alias)
    expect(await refusal(other!.owner.call(denyProposal, await asked(id)))).toEqual(['NOT_FOUND'])
    const { proposals: queue } = await other!.owner.call(listProposalQueue, { org_id: other!.id })
    expect(queue.filter((one) => one.id === id)).toEqual([])
    expect((await show(id)).state).toBe('ready')
  })

  test('no agent, unless an owner chose so', async () => {
    const { id } = await make()
    const token = await makeApiToken(system, org!, admin!)
    const actor = actorOf(org!, admin!, token.id, ['maintenance:read', 'proposals:decide'])
    const call = system.as({ token: await signActor(system, actor) })
    expect((await show(id, call)).decision.reasons).toMatchObject({
      approve: [{ code: 'AGENT' }],
      deny: [{ code: 'AGENT' }],
      retry: [{ code: 'AGENT' }, { code: 'NOTHING_TO_RETRY' }],
    })
    expect(await refusal(approve(id, call))).toEqual(['FORBIDDEN', 'AGENT'])
    await setMcpDecisions('direct')
    expect(await approve(id, call)).toMatchObject({ decided: { via: 'mcp', token: { id: token.id } } })
    await setMcpDecisions('link')
  })

  test('an API token may, and is named', async () => {
    const { id } = await make()
    const token = await makeApiToken(system, org!, admin!, { name: 'release script' })
    expect(await approve(id, token.call)).toMatchObject({
      decided: {
        by: admin!.name,
        via: 'api',
        token: { id: token.id, name: system.isHosted ? null : 'release script' },
      },
    })
    expect((await eventsOf(id)).at(-1)).toMatchObject({ data: { proposal_id: id, token_id: token.id } })
    expect(await auditOf('proposal.approved', id)).toEqual([
      {
        subject: `${alias}: ${id}, by API token ${token.id}`,
        actorKind: 'api_token',
        actorId: admin!.userId,
      },
    ])
    // One that may only read decides nothing.
    const reader = await makeApiToken(system, org!, admin!, { scopes: ['maintenance:read'] })
    expect(await refusal(deny(id, reader.call))).toEqual(['FORBIDDEN'])
  })

  test('a token that may decide and not read is answered without the words of the model', async () => {
    const { id } = await make()
    const decider = await makeApiToken(system, org!, admin!, { scopes: ['proposals:decide'] })
    expect(await deny(id, decider.call)).toMatchObject({ state: 'denied', title: null })
    expect((await show(id)).title).toBe('Repair the sum')
  })

  test('no support session', async () => {
    const { id } = await make()
    const { id: support_session_id } = await system.as({ token: OPERATOR_TOKEN })(startSupportSession, {
      org: org!.id,
      staff_email: other!.owner.email,
      reason: 'Ticket 4711: a proposal',
    })
    const staff = as(other!.owner)
    expect(await show(id, staff)).toMatchObject({ title: null, diff: null, decision: { eligible: false } })
    for (const operation of [approveProposal, denyProposal, retryProposal]) {
      expect(await refusal(staff(operation, await asked(id)))).toEqual(['FORBIDDEN'])
    }
    // Titles may quote source and logs, which it does not read at its highest level either.
    await staff(elevateSupportSession, { support_session_id, reason: 'To look at the queue' })
    const queue = await staff(listProposalQueue, { org_id: org!.id, limit: 200 })
    expect(queue.proposals.find((one) => one.id === id)).toMatchObject({ state: 'ready', title: null })
  })

  test('with the diff that they looked at, and once', async () => {
    const { id } = await make()
    const wrong = { alias, proposal_id: id, diff_sha256: sha256('another') }
    for (const operation of [approveProposal, denyProposal]) {
      expect(await refusal(as(admin)(operation, wrong))).toEqual(['CONFLICT', 'DIFF_CHANGED'])
    }
    expect(await refusal(retry(id))).toEqual(['CONFLICT', 'NOTHING_TO_RETRY'])
    await approve(id)
    expect(await refusal(approve(id))).toEqual(['CONFLICT', 'ALREADY_DECIDED'])
    expect(await refusal(deny(id))).toEqual(['CONFLICT', 'ALREADY_DECIDED'])
  })

  test.runIf(inject('everyCase'))(
    'nobody of a change to what is not the head, though its row says nothing of that',
    async () => {
      const { id } = await make()
      const head = await headOf()
      await push({ ...TREE, 'src/sum.js': `${SUM}// more\n` })
      await system.db.update(proposals).set({ state: 'ready' }).where(eq(proposals.id, id))
      expect(await headOf()).not.toBe(head)
      expect(await refusal(approve(id))).toEqual(['CONFLICT', 'STALE'])
    },
  )

  test('nobody while it is off, but everybody who could reads what there is', async () => {
    const { id, run } = await make()
    await owner(updateMaintenanceSettings, { org_id: org!.id, enabled: false })
    for (const decide of [approve, deny, retry]) {
      expect(await refusal(decide(id))).toEqual(['MAINTENANCE_AGENT_NOT_FOUND'])
    }
    expect(await show(id)).toMatchObject({
      state: 'ready',
      decision: {
        eligible: false,
        can: { approve: false, deny: false, retry: false },
        reasons: { approve: [{ code: 'MAINTENANCE_OFF' }], deny: [{ code: 'MAINTENANCE_OFF' }] },
      },
    })
    expect(
      await owner(showRunEvidence, { alias, execution_id: run.executionId, ref: 'file:src/sum.js#L1-L2' }),
    ).toMatchObject({
      text: SUM.trimEnd(),
    })
    await turnOn(org!, { model: MODEL, cooldown_hours: 0 })
    const never = await makeOrganization(system)
    expect(await refusal(never.owner.call(listProposalQueue, { org_id: never.id }))).toEqual([
      'MAINTENANCE_AGENT_NOT_FOUND',
    ])
  })
})

const setMcpDecisions = (mcpDecisions: 'link' | 'direct') =>
  system.db.update(maintenanceSettings).set({ mcpDecisions }).where(eq(maintenanceSettings.orgId, org!.id))

describe('at the same moment', () => {
  const settled = async (works: Promise<unknown>[]) =>
    (await Promise.allSettled(works)).map((one) =>
      one.status === 'fulfilled' ? 'ok' : (one.reason as ServiceError).code,
    )

  /** Until they all wait for each other, or for the app, whose row is held meanwhile. Embedded there is one connection. */
  const settledTogether = async (works: () => Promise<unknown>[]) => {
    if (inject('engine') === 'pglite') return settled(works())
    const answers = await system.db.transaction(async (tx) => {
      await tx.select({ id: apps.id }).from(apps).where(eq(apps.id, appId)).for('update')
      const started = works()
      const result = settled(started)
      // Seldom one of them waits before it comes to that, for a connection: what they come to has to be right all the same.
      await vi
        .waitUntil(async () => (await waiting()) >= started.length, { timeout: 5_000, interval: 20 })
        .catch(() => {})
      return { result }
    })
    return answers.result
  }
  const waiting = async () => {
    const [row] = await system.db.execute<{ n: number }>(sql`
      select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
    return row!.n
  }

  test('two approve: one does, with one deployment and one event', async () => {
    const { id } = await make()
    const given = await asked(id)
    const people = [admin, org!.owner, admin]
    const answers = await settledTogether(() => people.map((person) => as(person)(approveProposal, given)))
    expect(answers.toSorted()).toEqual(['CONFLICT', 'CONFLICT', 'ok'])
    expect((await owner(deploy.listDeployments, { alias })).deployments).toHaveLength(1)
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['created', 'approved'])
  })

  test('one approves and one denies: one of them does', async () => {
    const { id } = await make()
    const given = await asked(id)
    const answers = await settled([as(admin)(approveProposal, given), owner(denyProposal, given)])
    expect(answers.toSorted()).toEqual(['CONFLICT', 'ok'])
    const { state } = await show(id)
    expect((await owner(deploy.listDeployments, { alias })).deployments).toHaveLength(
      state === 'denied' ? 0 : 1,
    )
    expect((await eventsOf(id)).map(({ type }) => type)).toEqual([
      'created',
      state === 'denied' ? 'denied' : 'approved',
    ])
  })

  test('one approves and one pushes: neither undoes the other unseen', async () => {
    const { id } = await make()
    const given = await asked(id)
    let pushed = ''
    const [approved, answered] = await settledTogether(() => [
      as(admin)(approveProposal, given),
      push({ ...TREE, 'new.txt': 'x' }).then((revision) => (pushed = revision.id)),
    ])
    const { deployments } = await owner(deploy.listDeployments, { alias })
    expect([(await show(id)).state, deployments.length]).toEqual(
      approved === 'ok' ? ['approved', 1] : ['stale', 0],
    )
    // Whoever comes second is refused: the push would undo what was approved, and the approval is of another head.
    expect([approved, answered]).toEqual(approved === 'ok' ? ['ok', 'HEAD_MOVED'] : ['CONFLICT', 'ok'])
    expect(await headOf()).toBe(approved === 'ok' ? (await show(id)).new_revision_id : pushed)
  })
})

describe('retrying', () => {
  test('a failed one deploys it again; after a push it is stale, and applied to the new source', async () => {
    const { id } = await make()
    await approve(id)
    await finish(1)
    expect(await show(id)).toMatchObject({ state: 'failed', decision: { can: { retry: true } } })
    const first = (await show(id)).deployment_id
    const again = await retry(id)
    expect(again.state).toBe('approved')
    expect(again.deployment_id).not.toBe(first)
    // One that is cancelled is not there either, and what it was to repair is open again.
    await owner(deploy.cancelDeployment, { alias, deployment_id: again.deployment_id! })
    expect((await show(id)).state).toBe('failed')
    expect(await owner(showAppMaintenance, { alias })).toMatchObject({ open_findings: 1, open_proposals: 1 })
    await pushAs({ ...TREE, 'src/other.js': 'export const other = 2\n' }, { replace: 'true' })
    expect(await retry(id)).toMatchObject({ state: 'stale', decided: null, deployment_id: null })
    const [undecided] = await system.db.select().from(proposals).where(eq(proposals.id, id))
    expect([undecided!.decidedById, undecided!.decidedBy, undecided!.decisionNote]).toEqual([
      null,
      null,
      null,
    ])
    expect(await retry(id)).toMatchObject({ state: 'ready', base_revision_id: await headOf() })
    await approve(id)
    await finish(0)
    expect((await show(id)).state).toBe('deployed')
    // As people are told: what has the same key is told once.
    expect(await shippedOf(id)).toEqual(['created', 'approved', 'approved'])
    expect(await auditOf('proposal.retried', id)).toHaveLength(3)
  })

  test('one that does not apply to the new source says why', async () => {
    const { id } = await make()
    await push({ ...TREE, 'src/sum.js': 'export const sum = () => 0\n' })
    const given = await asked(id)
    const error = await as(admin)(retryProposal, given).catch((caught: unknown) => caught)
    expect(error).toMatchObject({
      code: 'CONFLICT',
      problems: ['"src/sum.js": does not have a text that is to be replaced'],
    })
    expect(await refusal(retry(id, as(developer)))).toEqual(['FORBIDDEN', 'ROLE'])
    expect((await show(id)).state).toBe('stale')
  })

  test.runIf(inject('everyCase'))('a cancelled deployment can be retried, too', async () => {
    const { id } = await make()
    const { deployment_id } = await approve(id)
    await owner(deploy.cancelDeployment, { alias, deployment_id: deployment_id! })
    expect((await show(id)).state).toBe('failed')
    expect((await retry(id)).state).toBe('approved')
  })
})

describe('evidence', () => {
  test('resolves to the exact lines, outlasts what it was read from, and is not for everybody', async () => {
    const run = await startRun(system, owner, alias)
    const line = 'sum failed: password=[hidden]'
    await read(agent, run, linesRead('src/sum.js', SUM.trimEnd()), logRead(LOG_LINE, line))
    const ref = 'file:src/sum.js#L2-L2'
    await find(agent, run, {
      kind: 'error',
      summary: 'x',
      evidence: [ref, `log:${LOG_LINE}`],
      location: { path: 'src/sum.js', line: 2 },
    })
    expect(
      await refusedCode(
        find(agent, run, {
          kind: 'error',
          summary: 'x',
          evidence: [ref],
          location: { path: 'src/sum.js', line: 9 },
        }),
      ),
    ).toBe('EVIDENCE_NOT_READ')
    await endAs(system, run, 'finding_recorded')
    const at = { alias, execution_id: run.executionId }
    const text = SUM.split('\n')[1]!
    expect(await owner(showRunEvidence, { ...at, ref })).toEqual({
      ref,
      kind: 'file',
      location: 'src/sum.js',
      from_line: 2,
      to_line: 2,
      sha256: sha256(text),
      pinned: true,
      text,
    })
    const stored = await system.db
      .select()
      .from(runEvidence)
      .where(eq(runEvidence.executionId, run.executionId))
    expect(JSON.stringify(stored)).not.toContain('sum failed')
    // However much a run has read, the cited comes first, and no answer has all of it.
    await system.db.execute(sql`
      insert into run_evidence (org_id, execution_id, ref, kind, location, sha256, sealed_text, read_at)
      select ${org!.id}, ${run.executionId}, 'log:' || n, 'log', n::text, '', 'x', '2000-01-01'
      from generate_series(1, 600) n`)
    const { evidence } = await owner(showMaintenanceRun, at)
    expect([evidence.length, evidence[0]!.pinned, evidence[1]!.pinned]).toEqual([200, true, true])
    await sweepMaintenance({
      ...storageOf(system),
      clock: () => new Date(system.clock.now().getTime() + 31 * 86_400_000),
    })
    expect(await owner(showRunEvidence, { ...at, ref: `log:${LOG_LINE}` })).toMatchObject({ text: line })
    // Of what nothing cites only the number stays.
    expect(await refusal(owner(showRunEvidence, { ...at, ref: 'file:src/sum.js#L1-L2' }))).toEqual([
      'NOT_FOUND',
    ])
    expect(await refusal(as(viewer)(showRunEvidence, { ...at, ref }))).toEqual(['FORBIDDEN'])
    expect(await refusal(owner(showRunEvidence, { ...at, ref: 'file:none#L1-L1' }))).toEqual(['NOT_FOUND'])
    expect(await refusal(other!.owner.call(showRunEvidence, { ...at, ref }))).toEqual(['NOT_FOUND'])
    // Nor by way of another app.
    const { alias: elsewhere } = await makeMaintainedApp(org!)
    expect(await refusal(owner(showRunEvidence, { ...at, alias: elsewhere, ref }))).toEqual(['NOT_FOUND'])
  })

  test('viewers get codes, counts and digests, and who builds the app all of it', async () => {
    const { id, run } = await make()
    const seen = await show(id, as(viewer))
    expect(seen).toMatchObject({
      title: null,
      rationale: null,
      diff: null,
      files: null,
      flags: null,
      files_changed: 1,
    })
    expect(seen.evidence).toMatchObject([{ ref: null, kind: 'file' }])
    expect(JSON.stringify(seen)).not.toContain('sum.js')
    expect(await refusal(as(viewer)(downloadProposalPatch, { alias, proposal_id: id }))).toEqual([
      'FORBIDDEN',
    ])
    const { findings: hidden } = await as(viewer)(listFindings, { alias })
    expect(hidden).toMatchObject([
      { summary: null, location: null, evidence: [], execution_id: run.executionId },
    ])
    const queued = async () =>
      (await as(viewer)(listProposalQueue, { org_id: org!.id, limit: 200 })).proposals.find(
        (one) => one.id === id,
      )?.title
    expect(await queued()).toBeNull()
    await owner(setAppMember, { alias, user_id: viewer!.userId, role: 'builder' })
    expect([(await show(id, as(viewer))).title, await queued()]).toEqual(['Repair the sum', 'Repair the sum'])
    // As whoever left and came back: their part in the app was that of a membership that has ended.
    const former = eq(appMembers.userId, viewer!.userId)
    await system.db.update(appMembers).set({ membershipId: 'ended' }).where(former)
    expect([(await show(id, as(viewer))).title, await queued()]).toEqual([null, null])
  })
})

test('retention keeps the revisions of a proposal that may be deployed', async () => {
  const { id } = await make()
  const { base_revision_id, new_revision_id } = await show(id)
  const limits = { ...storageOf(system), sourceStorageBytes: 1 }
  const pushed: string[] = []
  for (let n = 0; n < 12; n++) pushed.push((await push({ ...TREE, 'n.txt': `${n}` })).id)
  // Of what was tried the last one may run still.
  const at = system.clock.now()
  const tried = { orgId: org!.id, appId, state: 'failed', code: 'BUILD_FAILED', requestedBy: 'x' } as const
  const times = { requestedAt: at, startedAt: at, endedAt: at, releasedAt: at }
  await system.db.insert(deployments).values(
    [0, 1].map((n) => ({
      ...tried,
      ...times,
      id: makeId('dep', n),
      revisionId: pushed[n]!,
      fence: n + 1,
    })),
  )
  await system.db.update(proposals).set({ state: 'failed' }).where(eq(proposals.id, id))
  const head = await headOf()
  // It is none of the newest, whose revisions stay whatever became of them.
  await system.db.execute(sql`
    insert into proposals select (jsonb_populate_record(p, jsonb_build_object('id', p.id || n, 'state', 'denied', 'day', p.day + n,
      'base_revision_id', ${head}::text, 'new_revision_id', ${head}::text))).*
    from proposals p, generate_series(1, ${SOURCE_RETENTION.scarceRevisions}::int) n where id = ${id}`)
  await sweepRevisions(limits)
  const kept = async () =>
    (await system.db.select({ id: revisions.id }).from(revisions).where(eq(revisions.appId, appId))).map(
      (row) => row.id,
    )
  expect(await kept()).toEqual(expect.arrayContaining([base_revision_id, new_revision_id, pushed[1]]))
  expect(await kept()).not.toContain(pushed[0])
  expect((await system.db.select().from(findings).where(eq(findings.appId, appId))).length).toBe(1)
  await system.db.delete(proposals).where(eq(proposals.id, id))
  await sweepRevisions(limits)
  expect(await kept()).not.toContain(new_revision_id)
  // A day later the contents go that only those had, and none that one of the others names.
  const dayLater = () => new Date(system.clock.now().getTime() + 25 * 60 * 60 * 1000)
  await sweepRevisions({ ...limits, clock: dayLater })
  const wanted = { alias, sha256: ['0', '11', TREE['src/other.js']!].map(sha256) }
  expect((await owner(findMissingFiles, wanted)).missing).toEqual([sha256('0')])
  const { body } = await owner(downloadRevision, { alias, revision_id: head! })
  expect(treeIn(body)).toEqual({ ...TREE, 'n.txt': '11' })
})

describe('whether a deployed fix worked', () => {
  const HOUR_MS = 3_600_000
  const log = (count: number, message: string, hoursFromNow: number, by = owner, to = alias) => {
    const time = new Date(system.clock.now().getTime() + hoursFromNow * HOUR_MS).toISOString()
    const lines = Array.from({ length: count }, () => JSON.stringify({ time, level: 'error', message }))
    return by(pushLogs, { alias: to, body: Buffer.from(lines.join('\n')) })
  }
  /** As the worker does it: now, or so many hours ago. */
  const measure = (hoursAgo = 0) => {
    const at = new Date(system.clock.now().getTime() - hoursAgo * HOUR_MS)
    return measureFixes({ db: system.db, clock: () => at, log: system.system.log })
  }

  /** A proposal that cites the error, approved, and deployed so many hours ago. */
  async function deployed(hoursAgo: number): Promise<string> {
    const { lines } = await owner(listLogs, { alias, text: 'sum failed' })
    const run = await startRun(system, owner, alias)
    const source = linesRead('src/sum.js', SUM.replace(/\n$/, ''))
    const cited = logRead(lines[0]!.id, lines[0]!.text)
    await read(agent, run, source, cited)
    const made = await propose(agent, run, { evidence: [source.ref, cited.ref], edits: [REPAIR] })
    await endAs(system, run, 'proposed', { proposalId: made.proposal_id })
    const { deployment_id } = await approve(made.proposal_id)
    const { fence } = await owner(deploy.claimDeployment, { alias, runner: 'r', claim_id: randomUUID() })
    await owner(deploy.finishDeployment, {
      alias,
      deployment_id: deployment_id!,
      fence: fence!,
      exit_code: 0,
    })
    const deployedAt = new Date(system.clock.now().getTime() - hoursAgo * HOUR_MS)
    await system.db.update(proposals).set({ deployedAt }).where(eq(proposals.id, made.proposal_id))
    return made.proposal_id
  }

  test('is told by how often its error was logged before and since, beside all lines', async () => {
    await log(17, 'sum failed: price is missing', -5)
    await log(30, 'order refused', -4)
    const id = await deployed(3)
    expect((await show(id)).effect).toBeNull()
    await measure(2.9)
    expect((await show(id)).effect).toMatchObject({
      text: '17 in 2 hours before, 0 of 0 lines since',
      came_back_at: null,
    })
    await log(1_200, 'order refused', -1.5)
    // Of another organization, with the same words.
    const { alias: otherAlias } = await makeMaintainedApp(other!)
    await log(5, 'sum failed: price is missing', -1, other!.owner.call, otherAlias)
    await measure()
    const { effect, effect_hours } = await show(id)
    expect(effect).toMatchObject({
      errors_before: 17,
      hours_before: 2,
      lines_before: 47,
      errors_since: 0,
      lines_since: 1_200,
      text: '17 in 2 hours before, 0 of 1,200 lines since',
    })
    expect(effect_hours.reduce((sum, { lines }) => sum + lines, 0)).toBe(1_247)
    // Looked at again, nothing is counted twice.
    await measure()
    expect((await show(id)).effect).toMatchObject({ lines_since: 1_200 })
    const listed = await owner(listProposals, { alias })
    expect(listed.proposals.find((one) => one.id === id)!.effect!.text).toBe(effect!.text)
  })

  test('and turns to "came back", which opens its finding and is told to the next run', async () => {
    await log(4, 'sum failed: price is missing', -31)
    const id = await deployed(30)
    const { fingerprint } = await show(id)
    const found = async () =>
      (await owner(listFindings, { alias })).findings.find((one) => one.fingerprint === fingerprint)!
    await measure(29)
    expect((await found()).state).toBe('resolved')
    await log(3, 'sum failed: price is missing', -0.5)
    await measure()
    expect((await show(id)).effect).toMatchObject({
      came_back_at: expect.any(String) as string,
      text: 'Came back: 4 in an hour before, 3 of 3 lines since',
    })
    expect((await found()).state).toBe('open')
    const run = await startRun(system, owner, alias)
    const { result } = await priorFindings(agent as never, { ...run, baseRevisionId: null }, {})
    expect(result.findings.find((one) => one.fingerprint === fingerprint)!.fix).toMatchObject({
      came_back_at: expect.any(String) as string,
    })
    // Of one that runs no longer it says nothing.
    await system.db.update(proposals).set({ state: 'failed' }).where(eq(proposals.id, id))
    const { result: later } = await priorFindings(agent as never, { ...run, baseRevisionId: null }, {})
    expect(later.findings.find((one) => one.fingerprint === fingerprint)!.fix).toBeNull()
    await endAs(system, run, 'found_nothing')
  })

  const FIXED = SUM.replace(REPAIR.old_text, REPAIR.new_text)
  const findingOf = async (fingerprint: string) =>
    (await owner(listFindings, { alias })).findings.find((one) => one.fingerprint === fingerprint)!.state

  test('is judged a few minutes after the push that restores it, as after its deployment', async () => {
    const failed = 'sum failed: price is missing'
    await log(4, failed, -31)
    const id = await deployed(30)
    const { fingerprint } = await show(id)
    await pushAs(TREE, { replace: 'true' })
    await push({ ...TREE, 'src/sum.js': FIXED })
    system.clock.advance(600)
    // Nine minutes ago what ran before was still there.
    await log(2, failed, -9 / 60)
    await measure()
    expect((await show(id)).effect).toMatchObject({ errors_since: 2, came_back_at: null })
    expect(await findingOf(fingerprint)).toBe('resolved')
    await log(1, failed, -3 / 60)
    await measure()
    expect((await show(id)).effect).toMatchObject({
      errors_since: 3,
      came_back_at: expect.any(String) as string,
    })
    expect(await findingOf(fingerprint)).toBe('open')
  })

  test.runIf(inject('everyCase'))(
    'is measured neither while it is undone nor anew once it is restored',
    async () => {
      await log(4, 'sum failed: price is missing', -31)
      const id = await deployed(30)
      const { fingerprint } = await show(id)
      await log(7, 'order refused', -20)
      await measure()
      const before = (await show(id)).effect
      expect(before).toMatchObject({ text: '4 in an hour before, 0 of 7 lines since' })
      await pushAs({ ...TREE, 'src/sum.js': `// Prices.\n${SUM}` }, { replace: 'true' })
      system.clock.advance(3_600)
      await log(9, 'sum failed: price is missing', -0.5)
      await measure()
      expect((await show(id)).effect).toEqual(before)
      await push({ ...TREE, 'src/sum.js': FIXED })
      system.clock.advance(3_600)
      await log(2, 'order refused', -0.1)
      await measure()
      expect((await show(id)).effect).toMatchObject({
        deployed_at: before!.deployed_at,
        text: '4 in an hour before, 0 of 9 lines since',
        came_back_at: null,
      })
      expect(await findingOf(fingerprint)).toBe('resolved')
      await log(1, 'sum failed: price is missing', 0)
      await measure()
      expect((await show(id)).effect).toMatchObject({
        errors_since: 1,
        came_back_at: expect.any(String) as string,
      })
      expect(await findingOf(fingerprint)).toBe('open')
    },
  )

  test.runIf(inject('everyCase'))('counts lines that arrive late', async () => {
    await log(4, 'sum failed: price is missing', -5)
    const id = await deployed(3)
    await log(1, 'order refused', -0.5)
    await measure()
    await log(3, 'order refused', -2)
    await log(2, 'sum failed: price is missing', -1.5)
    await measure()
    await measure()
    expect((await show(id)).effect).toMatchObject({ errors_since: 2, lines_since: 6 })
    expect((await show(id)).effect!.came_back_at).not.toBeNull()
  })

  test.runIf(inject('everyCase'))(
    'is judged hours after a push that somebody else deploys, and opens only what was resolved',
    async () => {
      await log(4, 'sum failed: price is missing', -10)
      const id = await deployed(8)
      const { fingerprint } = await show(id)
      await system.db.update(proposals).set({ deploymentId: null }).where(eq(proposals.id, id))
      await log(3, 'sum failed: price is missing', -4)
      await measure()
      expect((await show(id)).effect).toMatchObject({ errors_since: 3, came_back_at: null })
      expect(await findingOf(fingerprint)).toBe('resolved')
      const isFinding = and(eq(findings.appId, appId), eq(findings.fingerprint, fingerprint))
      await system.db.update(findings).set({ state: 'quiet' }).where(isFinding)
      await log(1, 'sum failed: price is missing', -1)
      await measure()
      expect((await show(id)).effect!.came_back_at).not.toBeNull()
      expect(await findingOf(fingerprint)).toBe('quiet')
    },
  )

  test.runIf(inject('everyCase'))(
    'says so where the log cannot be counted in time, and counts it when it can',
    async () => {
      await log(4, 'sum failed: price is missing', -5)
      const id = await deployed(3)
      const tooSlow = new Proxy(system.db, {
        get: (db, name) =>
          name === 'transaction'
            ? () => Promise.reject(Object.assign(new Error('canceled'), { code: '57014' }))
            : (Reflect.get(db, name) as unknown),
      })
      const late = () =>
        measureFixes({ db: tooSlow, clock: () => system.clock.now(), log: system.system.log })
      await late()
      const unknown = 'Not known: the log is too large to be counted in two seconds'
      expect((await show(id)).effect).toMatchObject({ text: unknown, errors_before: 0, came_back_at: null })
      await measure()
      const numbers = '4 in 2 hours before, 0 of 0 lines since'
      expect((await show(id)).effect).toMatchObject({ text: numbers, errors_before: 4 })
      await late()
      expect((await show(id)).effect).toMatchObject({
        text: `${numbers}; now the log is too large to be counted in two seconds`,
        errors_before: 4,
      })
      await measure()
      expect((await show(id)).effect!.text).toBe(numbers)
    },
  )

  test.runIf(inject('everyCase'))(
    'of one organization is measured though another one’s cannot be',
    async () => {
      await log(4, 'sum failed: price is missing', -5)
      const id = await deployed(3)
      const [row] = await system.db.select().from(proposals).where(eq(proposals.id, id))
      const deployed_at = row!.deployedAt!.toISOString()
      // No number of a group: the database refuses to count it.
      const error = { group: 'none', exception: null }
      const never = {
        deployed_at,
        measured_to: deployed_at,
        hours: [],
        first_error_at: null,
        came_back_at: null,
      }
      const broken = {
        ...row!,
        orgId: other!.id,
        id: makeId('pr', 0),
        effect: { ...never, error, measured_number: 0 },
      }
      await system.db.insert(proposals).values(broken)
      await measure()
      expect((await show(id)).effect).toMatchObject({ errors_before: 4 })
      const [after] = await system.db.select().from(proposals).where(eq(proposals.id, broken.id))
      // It has had its turn.
      const [own] = await system.db.select().from(proposals).where(eq(proposals.id, id))
      expect([after!.effect, after!.measuredAt]).toEqual([broken.effect, own!.measuredAt])
      expect(own!.measuredAt).not.toBeNull()
      await system.db.delete(proposals).where(eq(proposals.id, broken.id))
    },
  )

  test.runIf(inject('everyCase'))('is not asked any more once a push has undone it', async () => {
    await log(4, 'sum failed: price is missing', -5)
    const id = await deployed(3)
    await measure(2.9)
    const { effect } = await show(id)
    expect(effect).toMatchObject({ came_back_at: null })
    const head = await headOf()
    await system.db.update(proposals).set({ undoneBy: head }).where(eq(proposals.id, id))
    await log(3, 'sum failed: price is missing', -1)
    await measure()
    expect((await show(id)).effect).toEqual(effect)
    await system.db.update(proposals).set({ undoneBy: null }).where(eq(proposals.id, id))
    await measure()
    expect((await show(id)).effect).toMatchObject({ came_back_at: expect.any(String) as string })
  })

  test.runIf(inject('everyCase'))('is looked at for seven days', async () => {
    await log(3, 'sum failed: price is missing', -1)
    const id = await deployed(7 * 24 + 2)
    await measure()
    await measure()
    expect((await show(id)).effect).toMatchObject({ errors_since: 0, came_back_at: null })
  })
})
