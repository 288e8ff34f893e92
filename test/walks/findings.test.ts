/** What the maintenance agent finds night after night: once each, and quiet where somebody denied it. */
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import type { Call } from '../../src/client/http-client.ts'
import { and, eq } from '../../db/drizzle.ts'
import { checks, findings } from '../../db/schema.ts'
import { ToolRefused, type ToolInput } from '../../src/contracts/agent-tools.ts'
import {
  showAppMaintenance,
  showFinding,
  showMaintenanceRun,
  listFindings,
  updateAppMaintenance,
  updateMaintenanceSettings,
} from '../../src/contracts/maintenance.ts'
import { approveProposal, denyProposal, showProposal, listProposals } from '../../src/contracts/proposals.ts'
import { createCheck } from '../../src/contracts/checks.ts'
import {
  claimDeployment,
  createDeployment,
  finishDeployment,
  rollBackDeployment,
} from '../../src/contracts/deployments.ts'
import { summarizeApps } from '../../src/contracts/app-summaries.ts'
import { showIncident } from '../../src/contracts/incidents.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { listLogGroups, listLogs, pushLogs } from '../../src/contracts/logs.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import { concludeRun } from '../../src/cores/agent-tools/index.ts'
import { readConclusion } from '../../src/cores/findings/index.ts'
import { moveFindings } from '../../src/cores/move-findings.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org } from '../support/make.ts'
import { endAs, endEverything, makeMaintainedApp, turnOn } from '../support/maintenance.ts'
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
import { archiveOf } from '../support/source.ts'
import { statementsDuring } from '../support/statements.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const SUM = 'export const sum = (items) =>\n  items.reduce((total, { price }) => total + price, 0)\n'
const REPAIR = { path: 'src/sum.js', old_text: 'total + price', new_text: 'total + (price ?? 0)' }
const LOG_LINE = `lgl_${'0'.repeat(24)}1`

let system: TestSystem
let agent: Agent
/** By API tokens, which outlive the nights that these tests take. */
let org: Org
let admin: Call
let alias: string

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api', ...MODELS })
  agent = agentOf(system)
  const made = await makeOrganization(system)
  org = { ...made, owner: { ...made.owner, ...(await makeApiToken(system, made, made.owner)) } }
  admin = (await makeApiToken(system, org, await makeMember(system, org, 'admin'))).call
  await turnOn(org, { model: MODEL, cooldown_hours: 0 })
})
afterAll(async () => {
  await agent.close()
  await system.stop()
})
beforeEach(async () => {
  // Other files leave runs that wait, in the same database.
  await endEverything(system)
  ;({ alias } = await makeMaintainedApp(org))
  await push(SUM)
})

const push = (sum: string) =>
  org.owner.call(pushRevision, { alias, body: archiveOf({ 'src/sum.js': sum, 'README.md': '# Shop\n' }) })
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'ok',
    (error: unknown) => (error instanceof ToolRefused ? error.code : expect.fail(String(error))),
  )

/** What a run gets for the change, and for the finding alone. */
async function again(change: Partial<ToolInput<'propose_change'>> = {}, text = SUM) {
  const run = await startRun(system, org.owner.call, alias)
  const lines = linesRead('src/sum.js', text.trimEnd())
  await read(agent, run, lines)
  const evidence = [lines.ref]
  const proposed = await codeOf(propose(agent, run, { evidence, edits: [REPAIR], ...change }))
  const found = await codeOf(find(agent, run, { kind: 'error', summary: 'The sum', evidence }))
  await endAs(system, run, 'found_nothing')
  return [proposed, found]
}

test.runIf(inject('everyCase'))(
  'what was denied stays quiet until its lines change, however it is cut',
  async () => {
    const { id } = await makeProposal(system, agent, {
      call: org.owner.call,
      alias,
      path: REPAIR.path,
      text: SUM,
      old: REPAIR.old_text,
      now: REPAIR.new_text,
    })
    system.clock.advance(24 * 60 * 60)
    // Not decided yet.
    expect(await again()).toEqual(['DUPLICATE', 'ok'])
    const { diff_sha256 } = await admin(showProposal, { alias, proposal_id: id })
    await admin(denyProposal, { alias, proposal_id: id, diff_sha256 })
    expect(await again()).toEqual(['DUPLICATE', 'DUPLICATE'])
    const edits = [{ ...REPAIR, new_text: 'total + Number(price)' }]
    expect(await again({ evidence: ['file:src/sum.js#L2-L2'], edits })).toEqual(['DUPLICATE', 'DUPLICATE'])
    const moved = `// moved\n${SUM}`
    await push(moved)
    expect(await again({}, moved)).toEqual(['DUPLICATE', 'DUPLICATE'])
    const changed = SUM.replace('{ price }', '{ price, tax }')
    await push(changed)
    expect(await again({}, changed)).toEqual(['ok', 'ok'])
  },
)

test('the same tree is not proposed twice, whatever is cited', async () => {
  const first = await startRun(system, org.owner.call, alias)
  await read(agent, first, linesRead('src/sum.js', SUM.trimEnd()), logRead(LOG_LINE, 'one thing failed'))
  await propose(agent, first, { evidence: [`log:${LOG_LINE}`], edits: [REPAIR] })
  await endAs(system, first, 'proposed')
  system.clock.advance(24 * 60 * 60)
  const second = await startRun(system, org.owner.call, alias)
  await read(
    agent,
    second,
    linesRead('src/sum.js', SUM.trimEnd()),
    logRead(LOG_LINE, 'something else entirely'),
  )
  expect(await codeOf(propose(agent, second, { evidence: [`log:${LOG_LINE}`], edits: [REPAIR] }))).toBe(
    'DUPLICATE',
  )
  await endAs(system, second, 'found_nothing')
})

test('a finding is one however often it is found, and is reported again after the cool-down', async () => {
  const found = async (line: string) => {
    const run = await startRun(system, org.owner.call, alias)
    await read(agent, run, logRead(LOG_LINE, line), linesRead('src/sum.js', SUM.trimEnd()))
    const evidence = [`log:${LOG_LINE}`, 'file:src/sum.js#L1-L2']
    await org.owner.call(updateMaintenanceSettings, { org_id: org.id, cooldown_hours: 24 })
    const answer = await find(agent, run, { kind: 'error', summary: 'A\u202e bad sum', evidence })
    await org.owner.call(updateMaintenanceSettings, { org_id: org.id, cooldown_hours: 0 })
    const { finding, known } = await readConclusion(system.db, run)
    await endAs(system, run, 'finding_recorded')
    const { executionId } = run
    return { ...answer, executionId, reported: finding !== undefined, known }
  }
  const first = await found('sum of 3 failed')
  expect(first).toMatchObject({ is_known: false, reported: true, known: 0 })
  expect(await found('sum of 77 failed')).toMatchObject({
    is_known: true,
    finding_id: first.finding_id,
    reported: false,
    known: 1,
  })
  const ofFirst = { alias, execution_id: first.executionId }
  expect((await org.owner.call(showMaintenanceRun, ofFirst)).findings).toMatchObject([
    { id: first.finding_id },
  ])
  // A night in spring has 23 hours.
  system.clock.advance(23 * 60 * 60)
  expect(await found('sum of 5 failed')).toMatchObject({ is_known: false, reported: true })
  const finding = await org.owner.call(showFinding, { alias, finding_id: first.finding_id })
  expect(finding).toMatchObject({
    kind: 'error',
    state: 'open',
    summary: 'A bad sum',
    times_found: 3,
    fingerprint: first.fingerprint,
  })
  expect((await org.owner.call(listFindings, { alias })).findings).toHaveLength(1)
})

test('what a run found that was cut off, nobody was told of: whoever finds it next reports it', async () => {
  await org.owner.call(updateMaintenanceSettings, { org_id: org.id, cooldown_hours: 24 })
  const quiet = await startRun(system, org.owner.call, alias)
  await read(agent, quiet, logRead(LOG_LINE, 'sum failed'))
  await endAs(system, quiet, 'found_nothing')
  const night = async () => {
    const run = await startRun(system, org.owner.call, alias)
    await read(agent, run, logRead(LOG_LINE, 'sum failed'))
    const evidence = [`log:${LOG_LINE}`]
    return { run, ...(await find(agent, run, { kind: 'error', summary: 'The sum', evidence })) }
  }
  const { finding_id } = await night()
  for (const enabled of [false, true]) await org.owner.call(updateAppMaintenance, { alias, enabled })
  const second = await night()
  expect(second).toMatchObject({ finding_id, is_known: false })
  await endAs(system, second.run, 'finding_recorded')
  // One that has found it again has found something, and is not done once more when its agent runner is stopped.
  const third = await night()
  expect(third).toMatchObject({ finding_id, is_known: true })
  // What one run has cited, another one has only read.
  const asked = { alias, execution_id: quiet.executionId }
  expect((await org.owner.call(showMaintenanceRun, asked)).evidence).toMatchObject([{ pinned: false }])
  expect(await concludeRun(agent, third.run, { kind: 'failed', reason: 'RUNNER_STOPPED' })).toBe(
    'agent_error',
  )
  await org.owner.call(updateMaintenanceSettings, { org_id: org.id, cooldown_hours: 0 })
})

test.runIf(inject('everyCase'))(
  'two problems in the same lines are two findings, and what is denied of one says nothing of the other',
  async () => {
    const lines = linesRead('src/sum.js', SUM.trimEnd())
    const night = async () => {
      nextNight()
      const run = await startRun(system, org.owner.call, alias)
      await read(agent, run, lines)
      const at = (line: number) =>
        find(agent, run, {
          kind: 'error',
          summary: `Line ${line}`,
          evidence: [lines.ref],
          location: { path: 'src/sum.js', line },
        })
      return { run, at, end: () => endAs(system, run, 'finding_recorded') }
    }
    const first = await night()
    const price = await first.at(2)
    const name = await first.at(1)
    expect(name.finding_id).not.toBe(price.finding_id)
    await first.end()
    const second = await night()
    expect((await second.at(2)).finding_id).toBe(price.finding_id)
    expect((await second.at(1)).finding_id).toBe(name.finding_id)
    // The change says which of them it is about.
    const { proposal_id } = await propose(agent, second.run, { evidence: [lines.ref], edits: [REPAIR] })
    await second.end()
    const show = (finding_id: string) => org.owner.call(showFinding, { alias, finding_id })
    expect(await show(price.finding_id)).toMatchObject({ state: 'proposed' })
    expect(await show(name.finding_id)).toMatchObject({ state: 'open', summary: 'Line 1' })
    const { diff_sha256 } = await admin(showProposal, { alias, proposal_id })
    await admin(denyProposal, { alias, proposal_id, diff_sha256 })
    const third = await night()
    expect(await codeOf(third.at(2))).toBe('DUPLICATE')
    expect((await third.at(1)).finding_id).toBe(name.finding_id)
    await third.end()
  },
)

test('a finding is resolved when the line of its place is in the source no more, and is news when it is back', async () => {
  const night = async (sum: string, isFound: boolean) => {
    nextNight()
    const run = await startRun(system, org.owner.call, alias)
    const lines = linesRead('src/sum.js', sum.trimEnd())
    await read(agent, run, lines)
    const location = { path: 'src/sum.js', line: sum.trimEnd().split('\n').length }
    if (isFound)
      await find(agent, run, { kind: 'error', summary: 'The sum', evidence: [lines.ref], location })
    await concludeRun(agent, run, { kind: 'failed', reason: 'UNEXPECTED' })
    return (await org.owner.call(listFindings, { alias })).findings.map(({ state }) => state)
  }
  expect(await night(SUM, true)).toEqual(['open'])
  const moved = `// pushed\n${SUM}`
  await push(moved)
  expect(await night(moved, false)).toEqual(['open'])
  const repaired = SUM.replace('total + price', 'total + (price ?? 0)')
  await push(repaired)
  await system.db.update(findings).set({ reopenedBy: 'rev_1' }).where(eq(findings.orgId, org.id))
  expect(await night(repaired, false)).toEqual(['resolved'])
  expect((await org.owner.call(listFindings, { alias })).findings).toMatchObject([{ reopened_by: null }])
  expect(await status()).toMatchObject({ open_findings: 0 })
  await push(SUM)
  expect(await night(SUM, true)).toEqual(['open'])
})

test('lists of findings do not read the lines that those cite', async () => {
  const statements = await statementsDuring(system.db, () => org.owner.call(listFindings, { alias }))
  const selected = statements.filter((statement) => statement.includes('from "findings"'))
  expect(selected.length).toBeGreaterThan(0)
  for (const statement of selected) expect(statement).not.toContain('"matter"')
})

test('a run records three findings at most', async () => {
  const run = await startRun(system, org.owner.call, alias)
  const codes: string[] = []
  for (const [n, word] of ['orders', 'mails', 'users', 'carts'].entries()) {
    const line = logRead(`lgl_${'0'.repeat(24)}${n}`, `${word} failed`)
    await read(agent, run, line)
    codes.push(await codeOf(find(agent, run, { kind: 'error', summary: word, evidence: [line.ref] })))
  }
  expect(codes).toEqual(['ok', 'ok', 'ok', 'TOO_MANY_FINDINGS'])
  await endAs(system, run, 'finding_recorded')
})

test('references that the database cannot even be asked for were not read', async () => {
  const run = await startRun(system, org.owner.call, alias)
  for (const ref of ['file:a\0b#L1-L1', 'file:\ud800#L1-L1', "file:'; drop table proposals; --#L1-L1"]) {
    expect(await codeOf(find(agent, run, { kind: 'error', summary: 'x', evidence: [ref] }))).toBe(
      'EVIDENCE_NOT_READ',
    )
  }
  await endAs(system, run, 'found_nothing')
})

const proposed = () =>
  makeProposal(system, agent, {
    call: org.owner.call,
    alias,
    path: REPAIR.path,
    text: SUM,
    old: REPAIR.old_text,
    now: REPAIR.new_text,
  })
const nextNight = () => system.clock.advance(24 * 60 * 60)
const status = () => org.owner.call(showAppMaintenance, { alias })

test.runIf(inject('everyCase'))(
  'what was proposed and then overtaken by a push is found and proposed again',
  async () => {
    const { id, run } = await proposed()
    await push(`// pushed\n${SUM}`)
    expect(await status()).toMatchObject({ open_findings: 1, open_proposals: 1 })
    nextNight()
    const second = await startRun(system, org.owner.call, alias)
    const lines = linesRead('src/sum.js', `// pushed\n${SUM}`.trimEnd())
    await read(agent, second, lines)
    const evidence = [lines.ref]
    await org.owner.call(updateMaintenanceSettings, { org_id: org.id, cooldown_hours: 24 })
    expect(await find(agent, second, { kind: 'error', summary: 'The sum', evidence })).toMatchObject({
      is_known: false,
    })
    await org.owner.call(updateMaintenanceSettings, { org_id: org.id, cooldown_hours: 0 })
    expect((await readConclusion(system.db, second)).finding).toMatchObject({ summary: 'The sum' })
    // In place of the stale one: the queue has it once, of the run that made it.
    const again = await propose(agent, second, { evidence, edits: [REPAIR] })
    expect(again.proposal_id).toBe(id)
    expect(await admin(showProposal, { alias, proposal_id: id })).toMatchObject({
      state: 'ready',
      execution_id: second.executionId,
      decision: { eligible: true },
    })
    expect(second.executionId).not.toBe(run.executionId)
    expect((await org.owner.call(listProposals, { alias })).proposals).toHaveLength(1)
    expect(await status()).toMatchObject({ open_findings: 0, open_proposals: 1 })
    await endAs(system, second, 'proposed', { proposalId: id })
  },
)

test('what was approved and failed to be deployed is found again', async () => {
  const first = await startRun(system, org.owner.call, alias)
  const broken = linesRead('src/sum.js', SUM.split('\n')[1]!, 2)
  await read(agent, first, broken)
  const { proposal_id } = await propose(agent, first, { evidence: [broken.ref], edits: [REPAIR] })
  await endAs(system, first, 'proposed', { proposalId: proposal_id })
  const { diff_sha256 } = await admin(showProposal, { alias, proposal_id })
  await admin(approveProposal, { alias, proposal_id, diff_sha256 })
  const { deployment, fence } = await org.owner.call(claimDeployment, { alias, runner: 'r' })
  const claimed = { alias, deployment_id: deployment!.id, fence: fence! }
  await org.owner.call(finishDeployment, { ...claimed, exit_code: 1 })
  expect(await status()).toMatchObject({ open_findings: 1, open_proposals: 1 })
  nextNight()
  // Its repair is in the source, and does not run.
  const quiet = await startRun(system, org.owner.call, alias)
  await concludeRun(agent, quiet, { kind: 'failed', reason: 'UNEXPECTED' })
  expect(await status()).toMatchObject({ open_findings: 1 })
  nextNight()
  const run = await startRun(system, org.owner.call, alias)
  const lines = linesRead('src/sum.js', SUM.trimEnd())
  await read(agent, run, lines)
  expect(await find(agent, run, { kind: 'error', summary: 'x', evidence: [lines.ref] })).toMatchObject({
    is_known: false,
  })
  await endAs(system, run, 'finding_recorded')
})

test('what was proposed stays so when it is found again; denied it is not proposed with something else cited for it', async () => {
  const { id } = await proposed()
  const { diff_sha256 } = await admin(showProposal, { alias, proposal_id: id })
  nextNight()
  const attempt = async () => {
    const run = await startRun(system, org.owner.call, alias)
    await read(agent, run, linesRead('src/sum.js', SUM.trimEnd()), linesRead('README.md', '# Shop'))
    const edits = [{ ...REPAIR, new_text: 'total  + (price ?? 0)' }]
    const code = await codeOf(propose(agent, run, { evidence: ['file:README.md#L1-L1'], edits }))
    const evidence = ['file:src/sum.js#L1-L2']
    const found = await codeOf(find(agent, run, { kind: 'error', summary: 'The sum', evidence }))
    await endAs(system, run, 'found_nothing')
    return [code, found]
  }
  // Not decided yet, and then denied.
  expect(await attempt()).toEqual(['DUPLICATE', 'ok'])
  const { findings: waiting } = await org.owner.call(listFindings, { alias })
  expect(waiting).toMatchObject([{ state: 'proposed', times_found: 2 }])
  await admin(denyProposal, { alias, proposal_id: id, diff_sha256 })
  expect(await attempt()).toEqual(['DUPLICATE', 'DUPLICATE'])
})

test('two checks that fail are two findings, and each is known by its check', async () => {
  const failed = (check: string, n: number) => ({
    ref: `check:chr_${'0'.repeat(24)}${n}`,
    kind: 'check' as const,
    location: `chr_${'0'.repeat(24)}${n}`,
    fromLine: null,
    toLine: null,
    text: JSON.stringify({ check, check_id: `chk_${check}`, result: 'fail' }),
  })
  const night = async (...reads: ReturnType<typeof failed>[]) => {
    const run = await startRun(system, org.owner.call, alias)
    await read(agent, run, ...reads)
    const ids: string[] = []
    for (const { ref } of reads) {
      const finding = { kind: 'availability' as const, summary: ref, evidence: [ref] }
      await find(agent, run, finding)
      ids.push((await find(agent, run, finding)).finding_id)
    }
    await endAs(system, run, 'finding_recorded')
    return ids
  }
  const [front, back] = await night(failed('front', 1), failed('back', 2))
  expect(front).not.toBe(back)
  expect(await night(failed('back', 3))).toEqual([back])
  // By nights, however often it is recorded in one of them.
  const { findings: listed } = await org.owner.call(listFindings, { alias })
  expect(listed.map(({ id, times_found }) => [id, times_found])).toEqual([
    [back, 2],
    [front, 1],
  ])
})

/** Whether it is found, by the code of the refusal. */
const answerTo = (call: Call, incident_id: string, of = alias): Promise<string> =>
  call(showIncident, { alias: of, incident_id }).then(
    () => 'found',
    (error: unknown) => (error as { code: string }).code,
  )

const deployed = async (revision_id: string) => {
  await org.owner.call(createDeployment, { alias, revision_id })
  return finishNext()
}

async function finishNext(): Promise<string> {
  const { deployment, fence } = await org.owner.call(claimDeployment, { alias, runner: 'r' })
  const claimed = { alias, deployment_id: deployment!.id, fence: fence! }
  await org.owner.call(finishDeployment, { ...claimed, exit_code: 0 })
  return deployment!.id
}

test('an incident is of the exception that is cited alone, and of a check it is what was found of that', async () => {
  const traces = ['KeyError', 'ValueError', 'ValueError'].map((name, n) => {
    const message = `Traceback (most recent call last):\n  File "sum.py", line 2, in sum\n${name}: ${n}`
    return JSON.stringify({ level: 'error', message })
  })
  await org.owner.call(pushLogs, { alias, body: Buffer.from(traces.join('\n')) })
  const { lines } = await org.owner.call(listLogs, { alias, text: 'KeyError' })
  const { id: check_id } = await org.owner.call(createCheck, {
    alias,
    name: 'Sums',
    definition: { kind: 'logs', pattern: 'nothing' },
  })
  const run = await startRun(system, org.owner.call, alias)
  const logged = logRead(lines[0]!.id, lines[0]!.text)
  const failed = {
    ...logRead('chr_1', JSON.stringify({ check_id })),
    ref: 'check:chr_1',
    kind: 'check' as const,
  }
  await read(agent, run, logged, failed)
  const ids: string[] = []
  for (const { ref } of [logged, failed])
    ids.push((await find(agent, run, { kind: 'error', summary: ref, evidence: [ref] })).finding_id)
  await endAs(system, run, 'finding_recorded')
  const show = (incident_id: string) => org.owner.call(showIncident, { alias, incident_id })
  expect((await show(ids[0]!)).log).toMatchObject({ count: 1, lines: [{ id: lines[0]!.id }] })
  expect((await show(check_id)).finding).toMatchObject({ id: ids[1] })
})

test('an incident is one from its first line to the deployment of its fix, whichever part of it is asked for', async () => {
  const [first, second] = [await push(SUM), await push(`// pushed\n${SUM}`)]
  await deployed(first.id)
  const bad = await deployed(second.id)
  // What the agent did before says nothing of it.
  await endAs(system, await startRun(system, org.owner.call, alias), 'found_nothing')
  system.clock.advance(60)
  const lines = [12, 13].map((n) =>
    JSON.stringify({
      level: 'error',
      message: `TypeError: order ${n} has no price\n    at sum (src/sum.js:2:3)`,
    }),
  )
  await org.owner.call(pushLogs, { alias, body: Buffer.from([...lines, 'started'].join('\n')) })
  const { groups } = await org.owner.call(listLogGroups, { alias, level: 'error' })
  const group = groups[0]!.id
  const show = (incident_id: string, call = org.owner.call) => call(showIncident, { alias, incident_id })

  const logged = await show(group)
  expect(logged).toMatchObject({
    id: group,
    title: 'TypeError: order 13 has no price',
    state: 'open',
    log: { count: 2, level: 'error', template: 'TypeError: order <n> has no price', hours: [{ lines: 2 }] },
    finding: null,
    proposal: null,
    deployments: { before: { id: bad }, fix: null, roll_back_to: first.id },
    checks: [],
    run: null,
    suggested_check: {
      name: 'TypeError: order … has no price',
      pattern: '/TypeError:\\s+order\\s+.+\\s+has\\s+no\\s+price/',
      level: 'error',
      window_minutes: 10,
    },
    can: { create_check: true, start_run: true, roll_back: true },
  })
  expect(logged.log!.lines.map(({ text }) => text.split('\n')[1])).toEqual(
    Array(2).fill('    at sum (src/sum.js:2:3)'),
  )
  expect(logged.timeline.map(({ step }) => step)).toEqual(['deployed_before', 'first_logged', 'last_logged'])

  // The check that it suggests finds its lines, and leads to the same page.
  const { name, ...suggested } = logged.suggested_check!
  const check = await org.owner.call(createCheck, { alias, name, definition: { kind: 'logs', ...suggested } })
  await org.owner.call(createCheck, {
    alias,
    name: 'Another',
    definition: { kind: 'logs', pattern: 'panic' },
  })
  // It looks for what is worse.
  const worse = { kind: 'logs', ...suggested, level: 'fatal' } as const
  await org.owner.call(createCheck, { alias, name: 'Worse', definition: worse })
  expect(await show(check.id)).toMatchObject({ id: group, checks: [{ name }], suggested_check: null })
  // Since when it passes says nothing of when the trouble began.
  const isCheck = and(eq(checks.orgId, org.id), eq(checks.id, check.id))
  const passing = { state: 'pass', stateSince: new Date('2020-01-01') } as const
  await system.db.update(checks).set(passing).where(isCheck)
  expect(await show(check.id)).toMatchObject({
    checks: [{ state: 'pass' }],
    deployments: { before: { id: bad } },
    run: null,
  })

  const run = await startRun(system, org.owner.call, alias, org.owner.call)
  expect(await show(group)).toMatchObject({ run: { status: 'running' }, can: { start_run: false } })
  const line = logged.log!.lines[0]!
  await read(agent, run, logRead(line.id, line.text), linesRead('src/sum.js', `// pushed\n${SUM}`.trimEnd()))
  const evidence = [`log:${line.id}`, 'file:src/sum.js#L1-L3']
  const { finding_id } = await find(agent, run, { kind: 'error', summary: 'No price', evidence })
  const { proposal_id } = await propose(agent, run, { evidence, edits: [REPAIR] })
  await endAs(system, run, 'proposed', { proposalId: proposal_id })

  const found = await show(group, admin)
  expect(found).toMatchObject({
    id: finding_id,
    finding: { id: finding_id, summary: 'Repair the sum', state: 'proposed' },
    proposal: { id: proposal_id, decision: { can: { approve: true } }, files: [{ path: 'src/sum.js' }] },
  })
  expect(found.proposal!.diff).toContain('price ?? 0')
  expect(await show(finding_id, admin)).toEqual(found)
  expect(await show(check.id, admin)).toEqual(found)
  // What fails now is open, whatever became of its finding.
  const isFinding = and(eq(findings.orgId, org.id), eq(findings.id, finding_id))
  await system.db.update(findings).set({ state: 'resolved' }).where(isFinding)
  expect(await show(check.id, admin)).toMatchObject({ state: 'resolved', log_timed_out: false })
  await system.db.update(checks).set({ state: 'fail' }).where(isCheck)
  expect(await show(check.id, admin)).toMatchObject({ state: 'open' })
  await system.db.update(checks).set({ state: 'pass' }).where(isCheck)
  await system.db.update(findings).set({ state: 'proposed' }).where(isFinding)
  // Whoever started the run may not approve what came of it.
  expect(await show(finding_id)).toMatchObject({ proposal: { decision: { can: { approve: false } } } })

  // Codes, counts and names for a viewer; what stands in the log alone is not there.
  const viewer = await makeMember(system, org, 'viewer')
  const hidden = await show(finding_id, viewer.call)
  expect(hidden).toMatchObject({
    title: `Finding ${finding_id.slice(-6)}`,
    log: null,
    finding: { summary: null, location: null },
    proposal: { title: null, diff: null, files: null },
    suggested_check: null,
    can: { create_check: false, start_run: false, roll_back: false },
  })
  expect(JSON.stringify(hidden)).not.toMatch(/price|sum\.js/)
  expect(await show(check.id, viewer.call)).toMatchObject({ id: check.id, log: null, finding: null })
  expect(await answerTo(viewer.call, group)).toBe('NOT_FOUND')
  // The same lines are the same group in every app: there it has none.
  const other = await makeOrganization(system)
  await turnOn(other)
  await makeMaintainedApp(other, alias)
  for (const id of [group, finding_id, check.id]) {
    expect(await answerTo(other.owner.call, id)).toBe('NOT_FOUND')
    expect(await answerTo(org.owner.call, id, (await makeMaintainedApp(org)).alias)).toBe('NOT_FOUND')
  }
  expect(await answerTo(org.owner.call, `lgr_${'0'.repeat(25)}`)).toBe('NOT_FOUND')
  expect(await answerTo(org.owner.call, `lgr_${'z'.repeat(25)}`)).toBe('NOT_FOUND')
  expect(await answerTo(org.owner.call, bad)).toBe('NOT_FOUND')

  // The same at a glance, in one answer; errors are not counted for whoever may not read them.
  const glance = async (call: Call) => (await call(summarizeApps, { search: alias })).apps
  const [app] = await glance(org.owner.call)
  expect(app).toMatchObject({
    alias,
    running: { id: bad, revision_id: second.id },
    last_deployment: { id: bad, state: 'succeeded' },
    checks_total: 3,
    checks_failing: 0,
    errors_of_a_day: 2,
    open_proposals: 1,
    open_findings: 0,
    finding_id,
  })
  expect((await glance(viewer.call))[0]).toEqual({ ...app, my_role: null, errors_of_a_day: null })
  expect(await glance(other.owner.call)).toMatchObject([
    { alias, running: null, last_deployment: null, checks: [], errors_of_a_day: 0, finding_id: null },
  ])

  const { diff_sha256 } = found.proposal!
  await admin(approveProposal, { alias, proposal_id, diff_sha256 })
  const fix = await finishNext()
  const told = await show(finding_id)
  expect(told).toMatchObject({ state: 'resolved', deployments: { fix: { id: fix, state: 'succeeded' } } })
  expect(told.timeline.map(({ step }) => step)).toEqual(
    expect.arrayContaining([
      'run_requested',
      'first_found',
      'fix_proposed',
      'fix_approved',
      'fix_queued',
      'fix_deployed',
    ]),
  )
  expect(told.timeline.map(({ at }) => at)).toEqual(told.timeline.map(({ at }) => at).toSorted())
  const rolledBack = await org.owner.call(rollBackDeployment, { alias })
  expect(rolledBack.revision_id).toBe(told.deployments.roll_back_to)
  // Eight days later no line is kept: the finding tells the story.
  system.clock.advance(8 * 24 * 60 * 60)
  expect(await show(finding_id)).toMatchObject({ id: finding_id, title: 'Repair the sum', log: null })
  expect(await answerTo(org.owner.call, group)).toBe('found')
})

test('what becomes of a finding becomes of no other app’s, and of no other organization’s', async () => {
  const at = system.clock.now()
  const [one, another, elsewhere] = ['app_one', 'app_another', 'app_elsewhere'].map(unique)
  const fingerprint = unique('same')
  const rows = [
    [org.id, one],
    [org.id, another],
    [makeId('org', at.getTime()), elsewhere],
  ] as const
  await system.db.insert(findings).values(
    rows.map(([orgId, appId]) => ({
      orgId,
      id: makeId('fnd', at.getTime()),
      appId: appId!,
      fingerprint,
      matter: {} as never,
      kind: 'error' as const,
      summary: 'The sum',
      state: 'open' as const,
      executionId: makeId('exec', at.getTime()),
      evidence: [],
      firstFoundAt: at,
      lastFoundAt: at,
    })),
  )
  const move = { from: ['open'], to: 'proposed' } as const
  await withTransaction(system.db, (tx) =>
    moveFindings(tx, { orgId: org.id, appId: one! }, [fingerprint], move),
  )
  const moved = await system.db.select().from(findings).where(eq(findings.fingerprint, fingerprint))
  expect(moved.filter(({ state }) => state === 'proposed').map(({ appId }) => appId)).toEqual([one])
})
