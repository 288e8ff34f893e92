/** Maintenance as the client `svc` and assistants see it: through their entry points, the gateway and the cores. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import { auditLog, maintenanceChanges, maintenanceSettings, outbox, proposals } from '../../db/schema.ts'
import { run } from '../../src/cli/run.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listGrants } from '../../src/contracts/grants.ts'
import {
  startMaintenanceRun,
  showMaintenanceRun,
  listMaintenanceRuns,
} from '../../src/contracts/maintenance.ts'
import { outcomeOf, TERMINAL_CODES, type TerminalCode } from '../../src/contracts/outcomes.ts'
import { approveProposal, showProposal } from '../../src/contracts/proposals.ts'
import { pushRevision } from '../../src/contracts/revisions.ts'
import {
  newAssistant,
  preRegistered,
  startListeningSystem,
  type ListeningSystem,
} from '../support/assistant.ts'
import { textIn } from '../support/clients/client.ts'
import { fakeEnvironment } from '../support/fake-environment.ts'
import { claimNextRun, endAs, endEverything, makeMaintainedApp, turnOn } from '../support/maintenance.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { agentOf, makeProposal as propose, MODEL, MODELS, type Agent } from '../support/proposals.ts'
import { archiveOf } from '../support/source.ts'

const ALL = 'data:read maintenance:read maintenance:run maintenance:admin proposals:decide'
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

let system: ListeningSystem
let org: Org
let others: Org
let agent: Agent
beforeAll(async () => {
  system = await startListeningSystem({
    SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server',
    ...MODELS,
  })
  agent = agentOf(system)
  await endEverything(system)
  ;[org, others] = [await makeOrganization(system), await makeOrganization(system)]
  await turnOn(org, { cooldown_hours: 0 })
  await turnOn(others, { cooldown_hours: 0 })
})
afterAll(async () => {
  await agent.close()
  await system.stop()
})

/** One message of a client of 2026. */
async function send(
  token: string,
  method: string,
  params: Record<string, unknown>,
  capabilities: object = {},
) {
  const name = params['name'] ?? params['taskId']
  const response = await fetch(`${system.origin}/platform`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'hand-made', version: '0' },
          'io.modelcontextprotocol/clientCapabilities': capabilities,
        },
      },
    }),
  })
  const text = await response.text()
  const data = /^data: (.+)$/gm[Symbol.match](text)?.at(-1)?.slice('data: '.length) ?? text
  return JSON.parse(data) as {
    result?: Record<string, unknown> & { content?: { text: string }[]; isError?: boolean }
    error?: { code: number; message: string }
  }
}

async function use(token: string, name: string, input: object, capabilities: object = {}) {
  const { result, error } = await send(token, 'tools/call', { name, arguments: input }, capabilities)
  const text = result?.content?.[0]?.text ?? ''
  return { result, error, text, json: () => JSON.parse(text) as Record<string, unknown> }
}

async function connect(person: Person, scopes = ALL): Promise<string> {
  const assistant = newAssistant(system, await preRegistered(system))
  const asked = { resource: `${system.origin}/platform`, scope: scopes }
  return (await assistant.connect(person, asked, { scopes: scopes.split(' ') })).access
}

describe('an assistant', () => {
  test('turns it on, starts one run however often it asks, follows it as a task, and reads what came of it', async () => {
    const admin = await makeMember(system, org, 'admin')
    const token = await connect(admin)
    const alias = unique('shop')
    await org.owner.call(createApp, { alias, name: 'Shop' })
    expect((await use(token, 'maintenance_set', { app: alias, enabled: true })).json()).toMatchObject({
      enabled: true,
    })
    const start = { app: alias, idempotency_key: 'tonight' }
    const first = await use(token, 'maintenance_run', start, TASKS)
    expect(first.result).toMatchObject({ resultType: 'task', status: 'working' })
    const again = (await use(token, 'maintenance_run', start)).json()
    expect(again).toMatchObject({ replayed: true })
    const taskId = String(first.result?.['taskId'])
    expect(taskId).toBe(`${alias}.${String(again['run_id'])}`)
    expect((await send(token, 'tasks/get', { taskId }, TASKS)).result).toMatchObject({ status: 'working' })

    await endAs(system, await claimNextRun(system), 'finding_recorded', { summary: 'The total is NaN' })
    const done = (await send(token, 'tasks/get', { taskId }, TASKS)).result
    expect(done).toMatchObject({ status: 'completed' })
    expect(JSON.stringify(done)).toContain('The total is NaN')
    const status = (await use(token, 'maintenance_status', { app: alias })).json()
    expect(status).toMatchObject({ enabled: true, runs: [{ outcome: 'finding_recorded' }] })
    expect((await use(token, 'app_list', {})).text).toContain(alias)
    // By the person whose agent it is, who therefore may not approve what comes of it.
    const { runs } = await org.owner.call(listMaintenanceRuns, { alias })
    expect(runs).toMatchObject([{ via: 'mcp', requested_by: { user_id: admin.userId } }])

    // Nobody else's assistant finds any of it.
    const theirs = await connect(others.owner)
    expect((await use(theirs, 'maintenance_status', { app: alias })).text).toBe(
      'NOT_FOUND: No such app or run. Call app_list.',
    )
    expect((await use(theirs, 'app_list', {})).text).not.toContain(alias)
    expect((await send(theirs, 'tasks/get', { taskId }, TASKS)).error).toMatchObject({
      code: -32_602,
      message: 'No such task.',
    })
    // Nor does a viewer's see what quotes source and logs, or start anything.
    const viewer = await connect(await makeMember(system, org, 'viewer'))
    expect((await use(viewer, 'maintenance_status', { app: alias })).json()).toMatchObject({
      latest_run: { outcome: 'finding_recorded', summary: null },
    })
    expect((await use(viewer, 'maintenance_run', start)).error?.message).toMatch(/^No such tool/)
  })

  test('of an organization where it is off is told so', async () => {
    const off = await makeOrganization(system)
    await off.owner.call(createApp, { alias: 'shop', name: 'Shop' })
    const token = await connect(off.owner)
    const { text } = await use(token, 'maintenance_run', { app: 'shop', idempotency_key: 'x' })
    expect(text).toMatch(/^MAINTENANCE_AGENT_NOT_FOUND: .*do not retry/)
    expect((await use(token, 'app_list', {})).json()).toMatchObject({
      apps: [{ app: 'shop', enabled: false }],
    })
  })
})

async function svc({ token }: { token: string }, line: string) {
  const environment = fakeEnvironment({ env: { SVC_API_URL: system.origin, SVC_API_KEY: token } })
  const exit = await run(line.split(' '), environment)
  return { exit, out: environment.out(), err: environment.err() }
}

describe('the client', () => {
  /** Every row of the table of outcomes, from the row in the database to the exit code; all at once. */
  test('ends with the exit code of the outcome, whatever it is', async () => {
    const apps = new Map<string, { code: TerminalCode; alias: string }>()
    for (const code of TERMINAL_CODES) {
      const { id, alias } = await makeMaintainedApp(org)
      apps.set(id, { code, alias })
    }
    const by = await makeApiToken(system, org, org.owner)
    const follow = async ({ code, alias }: { code: TerminalCode; alias: string }) => {
      const { exit, out } = await svc(by, `apps maintenance run ${alias} --follow --json`)
      const lines = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
      return { code, exit, lines }
    }
    const held = [...apps.values()].find(({ code }) => code === 'skipped')!
    const holding = await org.owner.call(startMaintenanceRun, { alias: held.alias })
    const skipped = await follow(held)
    const clients = [...apps.values()].filter((app) => app !== held).map(follow)
    for (let left = TERMINAL_CODES.length; left > 0; left--) {
      const claimed = await vi.waitFor(() => claimNextRun(system), { timeout: 10_000, interval: 50 })
      const { code } = apps.get(claimed.appId)!
      await endAs(system, claimed, code === 'skipped' ? 'found_nothing' : code)
    }
    for (const { code, exit, lines } of [skipped, ...(await Promise.all(clients))]) {
      const { outcome, exitCode } = outcomeOf(code)
      expect([code, exit]).toEqual([code, exitCode])
      expect(lines[0]).toMatchObject({ event: 'execution_created' })
      expect(lines.filter(({ event }) => event === 'summary')).toMatchObject([
        { outcome, exit_code: exitCode },
      ])
      expect(lines.at(-1)).toMatchObject({ event: 'summary', terminal_code: code })
    }
    const path = { alias: held.alias, execution_id: holding.execution_id }
    expect(await org.owner.call(showMaintenanceRun, path)).toMatchObject({ outcome: 'found_nothing' })
  })

  test('replays a key, whoever sent it first, and says how long a cool-down takes', async () => {
    const own = await makeOrganization(system)
    await turnOn(own)
    const { alias } = await makeMaintainedApp(own)
    const by = await makeApiToken(system, own, own.owner)
    const first = await own.owner.call(startMaintenanceRun, { alias, idempotency_key: 'k' })
    await endAs(system, await claimNextRun(system), 'found_nothing')
    const replayed = await svc(by, `apps maintenance run ${alias} --idempotency-key k --json`)
    expect([replayed.exit, JSON.parse(replayed.out)]).toMatchObject([0, { execution_id: first.execution_id }])
    expect(await svc(by, `apps maintenance run ${alias}`)).toMatchObject({
      exit: 6,
      out: '',
      err: expect.stringMatching(/24 hours apart.*\n.*Try again in/),
    })
    const off = await svc(by, 'apps maintenance status nothing --json')
    expect([off.exit, off.err]).toEqual([4, expect.stringContaining('NOT_FOUND')])
  })

  test('exits 4 where the organization has turned it off', async () => {
    const off = await makeOrganization(system)
    await off.owner.call(createApp, { alias: 'shop', name: 'Shop' })
    const by = await makeApiToken(system, off, off.owner)
    for (const line of ['status shop', 'enable shop --yes', 'run shop', 'runs shop']) {
      expect(await svc(by, `apps maintenance ${line} --json`)).toMatchObject({
        exit: 4,
        err: expect.stringContaining('MAINTENANCE_AGENT_NOT_FOUND'),
      })
    }
  })
})

/** An organization whose model may propose. */
async function makeProposing(): Promise<Org> {
  const made = await makeOrganization(system)
  await turnOn(made, { model: MODEL, cooldown_hours: 0 })
  return made
}

/** A proposal that is ready, for an app of its own; `by` started the run. */
async function makeProposal(where: Org, by?: Person) {
  const { alias } = await makeMaintainedApp(where)
  // Whoever turned it on did so days ago.
  await system.db.delete(maintenanceChanges).where(eq(maintenanceChanges.orgId, where.id))
  const { call } = where.owner
  await call(pushRevision, { alias, body: archiveOf({ 'total.js': 'NaN\n' }) })
  const change = { path: 'total.js', text: 'NaN\n', old: 'NaN', now: 'count' }
  const { id } = await propose(system, agent, { call, alias, ...change, ...(by && { by: by.call }) })
  const { diff_sha256 } = await call(showProposal, { alias, proposal_id: id })
  return { alias, id, diff_sha256 }
}
type Made = Awaited<ReturnType<typeof makeProposal>>

const stateOf = async (where: Org, id: string) => {
  const mine = and(eq(proposals.orgId, where.id), eq(proposals.id, id))
  const [row] = await system.db.select().from(proposals).where(mine)
  return { state: row!.state, via: row!.decidedVia }
}

describe('proposals', () => {
  let org: Org
  beforeAll(async () => void (org = await makeProposing()))

  const decide = (token: string, { alias, id, diff_sha256 }: Made, decision = 'approve') =>
    use(token, 'proposal_decide', { app: alias, proposal_id: id, decision, diff_sha256 })

  /** The choice of an owner in the console, where alone it can be made. */
  const setDecisions = (where: Org, mcpDecisions: 'link' | 'direct') =>
    system.db.update(maintenanceSettings).set({ mcpDecisions }).where(eq(maintenanceSettings.orgId, where.id))

  test('are shown with their diff, and decided by a person: an agent gets a link and changes nothing', async () => {
    const proposal = await makeProposal(org)
    const token = await connect(org.owner)
    expect((await use(token, 'proposal_show', {})).text).toContain(proposal.id)
    const shown = await use(token, 'proposal_show', { app: proposal.alias, proposal_id: proposal.id })
    expect(shown.json()).toMatchObject({
      diff: expect.stringContaining('\n-NaN\n+count\n'),
      diff_sha256: proposal.diff_sha256,
      evidence: ['file:total.js#L1-L1'],
      decision: { eligible: false, reasons: { approve: [{ code: 'AGENT' }] } },
    })
    for (const decision of ['approve', 'deny']) {
      expect((await decide(token, proposal, decision)).json()).toMatchObject({
        status: 'needs_confirmation',
        url: expect.stringContaining(`/console/apps/${proposal.alias}/proposals/${proposal.id}`),
      })
    }
    // Its page has no such button.
    expect((await decide(token, proposal, 'retry')).text).toMatch(/^CONFLICT: .*NOTHING_TO_RETRY/)
    expect(await stateOf(org, proposal.id)).toEqual({ state: 'ready', via: null })
    // Of another organization none of it exists.
    const theirs = await connect(others.owner)
    expect((await decide(theirs, proposal)).text).toBe(
      'NOT_FOUND: No such app or proposal. Call proposal_show.',
    )
    expect((await use(theirs, 'proposal_show', {})).text).not.toContain(proposal.id)
  })

  test('a client that can have a link opened asks its user, and hears what the user did on the page', async () => {
    const proposal = await makeProposal(org)
    const { diff_sha256 } = proposal
    const admin = await makeMember(system, org, 'admin')
    const client = new Client(
      { name: 'official', version: '0' },
      { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: { url: {} } } },
    )
    const opened: unknown[] = []
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      opened.push('url' in params && params.url)
      const path = { alias: proposal.alias, proposal_id: proposal.id }
      await admin.call(approveProposal, { ...path, diff_sha256 })
      return { action: 'accept' }
    })
    const authorization = `Bearer ${await connect(org.owner)}`
    const requestInit = { headers: { authorization } }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${system.origin}/platform`), { requestInit }),
    )
    const input = { app: proposal.alias, proposal_id: proposal.id, decision: 'approve', diff_sha256 }
    const result = await client.callTool({ name: 'proposal_decide', arguments: input })
    await client.close()
    expect(opened).toEqual([expect.stringContaining(`/proposals/${proposal.id}`)])
    expect(JSON.parse(textIn(result))).toMatchObject({ status: 'decided', state: 'approved' })
    expect(await stateOf(org, proposal.id)).toEqual({ state: 'approved', via: 'api' })
  })

  test('are decided at once where an owner chose so, but not by the agent of whoever started the run', async () => {
    const own = await makeProposing()
    const admin = await makeMember(system, own, 'admin')
    await setDecisions(own, 'direct')
    const [fresh, asked] = [await makeProposal(own), await makeProposal(own, admin)]
    const token = await connect(admin)
    expect((await decide(token, asked)).text).toMatch(/^FORBIDDEN: .*REQUESTER/)
    expect((await decide(token, fresh)).json()).toMatchObject({ state: 'approved' })
    expect(await stateOf(own, fresh.id)).toEqual({ state: 'approved', via: 'mcp' })
    // Which of the agents of that person it was.
    const { decided } = await own.owner.call(showProposal, { alias: fresh.alias, proposal_id: fresh.id })
    const { grants } = await admin.call(listGrants, {})
    expect(decided).toMatchObject({
      by: admin.name,
      token: null,
      agent: { id: grants[0]!.id, name: grants[0]!.client_name },
    })
    const [event] = await system.db
      .select({ data: outbox.data })
      .from(outbox)
      .where(
        and(
          eq(outbox.subject, `proposals/${fresh.id}`),
          eq(outbox.type, 'application.maintenance.proposal.approved'),
        ),
      )
    expect(event!.data).toEqual({ proposal_id: fresh.id, grant_id: grants[0]!.id })
    const [audited] = await system.db
      .select({ subject: auditLog.subject })
      .from(auditLog)
      .where(and(eq(auditLog.orgId, own.id), eq(auditLog.action, 'proposal.approved')))
    expect(audited!.subject).toContain(`, by agent ${grants[0]!.id}`)
    expect((await decide(token, fresh)).text).toMatch(/^CONFLICT: .*ALREADY_DECIDED/)
    expect(await stateOf(own, asked.id)).toEqual({ state: 'ready', via: null })
    // Back to links, at once.
    await setDecisions(own, 'link')
    expect((await decide(token, asked)).text).toMatch(/^FORBIDDEN: .*REQUESTER/)
    expect((await decide(token, await makeProposal(own))).json()).toMatchObject({
      status: 'needs_confirmation',
    })
  })

  test('are listed, shown and decided by the client as the server allows, with its exit codes', async () => {
    const admin = await makeMember(system, org, 'admin')
    const viewer = await makeMember(system, org, 'viewer')
    const byAdmin = await makeApiToken(system, org, admin, { name: 'release script' })
    const byViewer = await makeApiToken(system, org, viewer)
    const byOwner = await makeApiToken(system, org, org.owner)
    const byOther = await makeApiToken(system, others, others.owner)
    const first = await makeProposal(org, admin)
    const path = `${first.alias} ${first.id}`
    expect((await svc(byOwner, `apps proposals list ${first.alias}`)).out).toMatch(
      new RegExp(`${first.id} +ready +approve, deny +1 +\\+1 -1 .*Repair the sum`),
    )
    const shown = await svc(byOwner, `apps proposals show ${path} --diff`)
    expect([shown.exit, shown.out]).toEqual([
      0,
      expect.stringMatching(/you may: +approve, deny\n[^]*\n\+count\n/),
    ])
    expect(JSON.parse((await svc(byOwner, `apps proposals show ${path} --json`)).out)).toMatchObject({
      diff: expect.stringContaining('+count'),
      decision: { eligible: true },
    })
    // Who started the run, whose role is too low, whose organization it is not.
    expect(await svc(byAdmin, `apps proposals approve ${path} --yes`)).toMatchObject({ exit: 3, out: '' })
    expect(await svc(byViewer, `apps proposals approve ${path} --yes`)).toMatchObject({ exit: 3, out: '' })
    expect(await svc(byOther, `apps proposals approve ${path} --yes`)).toMatchObject({ exit: 4, out: '' })
    expect((await svc(byViewer, `apps proposals show ${path} --diff`)).out).toContain(
      'You may not read the source',
    )
    expect(await svc(byOwner, `apps proposals retry ${path} --yes`)).toMatchObject({ exit: 6, out: '' })

    expect(await svc(byOwner, `apps proposals approve ${path} --yes`)).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/approved/),
      err: expect.stringContaining('svc apps deployments output'),
    })
    expect(await stateOf(org, first.id)).toEqual({ state: 'approved', via: 'cli' })
    for (const action of ['approve', 'deny', 'retry']) {
      expect(await svc(byOwner, `apps proposals ${action} ${path} --yes`)).toMatchObject({ exit: 6, out: '' })
    }

    const second = await makeProposal(org)
    const denied = await svc(byAdmin, `apps proposals deny ${second.alias} ${second.id} --yes --json`)
    expect([denied.exit, JSON.parse(denied.out)]).toMatchObject([
      0,
      { state: 'denied', decided: { approved: false, via: 'cli', token: { name: 'release script' } } },
    ])
    expect((await svc(byOwner, `apps proposals show ${second.alias} ${second.id}`)).out).toMatch(
      /decided: +denied by .* with the API token release script/,
    )
  })

  /** Threat: between looking and approving somebody makes another diff of it, and a script deploys what nobody has seen. */
  test('that became another diff since somebody looked are not approved by the client', async () => {
    const { alias, id, diff_sha256 } = await makeProposal(org)
    const by = await makeApiToken(system, org, org.owner)
    const approve = `apps proposals approve ${alias} ${id} --yes --diff-sha256`
    const body = archiveOf({ 'total.js': 'first\nNaN\n' })
    await org.owner.call(pushRevision, { alias, body })
    expect(await svc(by, `${approve} ${diff_sha256}`)).toMatchObject({
      exit: 6,
      err: expect.stringContaining('STALE'),
    })
    expect(await svc(by, `apps proposals retry ${alias} ${id} --yes`)).toMatchObject({ exit: 0 })
    expect(await svc(by, `${approve} ${diff_sha256}`)).toMatchObject({
      exit: 6,
      out: '',
      err: expect.stringContaining('DIFF_CHANGED'),
    })
    expect(await stateOf(org, id)).toEqual({ state: 'ready', via: null })
    const { diff_sha256: now } = await org.owner.call(showProposal, { alias, proposal_id: id })
    expect(await svc(by, `${approve} ${now}`)).toMatchObject({ exit: 0 })
    expect(await stateOf(org, id)).toEqual({ state: 'approved', via: 'cli' })
  })
})
