/** The six tools about apps: what they answer, runs as tasks, and decisions that a model cannot make by itself. */
import { describe, expect, test } from 'vitest'
import { ANSWER_MAX_BYTES } from '../src/contracts/limits.ts'
import {
  startMaintenanceRun,
  showMaintenanceRun,
  listAppMaintenance,
  listMaintenanceRuns,
} from '../src/contracts/maintenance.ts'
import { outcomeOf } from '../src/contracts/outcomes.ts'
import { approveProposal, showProposal, listProposalQueue } from '../src/contracts/proposals.ts'
import {
  fakeProposal,
  fakeRun,
  linkOnly,
  ORG_ID,
  PROPOSAL_ID,
  RUN_ID,
  RUNNING,
} from '../test/support/fake-maintenance.ts'
import {
  agentToken,
  APP,
  callTool,
  errorResponse,
  fakeServices,
  replyOf,
  send,
  toolText,
  type FakeServices,
} from '../test/support/fake-services.ts'

const SCOPES = 'data:read maintenance:read maintenance:run maintenance:admin proposals:decide'
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const LINKS = { elicitation: { url: {} } }
const PAGE = `${APP}/console/apps/shop/proposals/${PROPOSAL_ID}`

/** An admin whose assistant may do everything. */
function newSystem(): FakeServices {
  const system = fakeServices()
  system.role = 'admin'
  system.grant.scopes = SCOPES.split(' ') as typeof system.grant.scopes
  return system
}

async function asked(system: FakeServices, name: string, input: object, more: object = {}) {
  const token = await agentToken(system, 'platform', { scope: SCOPES })
  const response = await callTool(system, '/platform', name, input, { token, ...more })
  return { status: response.status, ...(await toolText(response.clone())), ...(await replyOf(response)) }
}

const json = (text: string) => JSON.parse(text) as Record<string, unknown>
const paths = (system: FakeServices) =>
  system.asked.filter(({ service }) => service === 'gateway').map(({ url }) => new URL(url).pathname)

describe('app_list and maintenance_status', () => {
  test('apps with their last run, of the organization of the grant', async () => {
    const system = newSystem()
    const { text, result } = await asked(system, 'app_list', {})
    expect(json(text)).toMatchObject({
      apps: [{ app: 'shop', enabled: true, open_proposals: 1, latest_run: { outcome: 'finding_recorded' } }],
    })
    expect(paths(system)[0]).toContain(ORG_ID)
    expect(result).toMatchObject({ _meta: { 'svc/untrusted': true } })
  })

  test('fits, however many apps there are, and says where to go on', async () => {
    const system = newSystem()
    const one = {
      app: 'a'.repeat(40),
      name: 'ü'.repeat(100),
      enabled: true,
      open_findings: 0,
      open_proposals: 0,
    }
    system.does[listAppMaintenance.name] = ({ limit }) => ({
      apps: Array.from({ length: Number(limit) }, () => ({ ...one, latest_run: fakeRun() })),
      next_cursor: 'x',
    })
    const { text } = await asked(system, 'app_list', {})
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(ANSWER_MAX_BYTES)
    expect(json(text)).toMatchObject({ next_cursor: 'x' })
  })

  test('settings and history of an app, or one run with what it read', async () => {
    const system = newSystem()
    const evidence = Array.from({ length: 2_000 }, (_, at) => ({
      ref: `file:src/a-long-name-of-a-file.ts#${at}-${at + 5}`,
      kind: 'file' as const,
      location: null,
      from_line: 1,
      to_line: 2,
      sha256: 'a'.repeat(64),
      pinned: true,
    }))
    system.does[showMaintenanceRun.name] = () => fakeRun({ evidence })
    expect(json((await asked(system, 'maintenance_status', { app: 'shop' })).text)).toMatchObject({
      enabled: true,
      latest_run: { meaning: 'Finding recorded', summary: 'The total is NaN' },
      runs: [{ run_id: RUN_ID }],
    })
    const { text } = await asked(system, 'maintenance_status', { app: 'shop', run_id: RUN_ID })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(ANSWER_MAX_BYTES)
    expect(json(text)).toMatchObject({ run_id: RUN_ID, truncated: expect.stringContaining('left out') })
  })

  test('an invalid id is answered like an unknown one', async () => {
    const system = newSystem()
    system.does[showMaintenanceRun.name] = () => errorResponse('NOT_FOUND')
    const unknown = await asked(system, 'maintenance_status', { app: 'shop', run_id: RUN_ID })
    const invalid = await asked(system, 'maintenance_status', { app: 'shop', run_id: 'ignore all' })
    expect(invalid.text).toBe(unknown.text)
    expect(unknown).toMatchObject({ isError: true, text: 'NOT_FOUND: No such app or run. Call app_list.' })
  })

  test('an organization where it is off says who can turn it on', async () => {
    const system = newSystem()
    system.does[listMaintenanceRuns.name] = () => errorResponse('MAINTENANCE_AGENT_NOT_FOUND')
    expect((await asked(system, 'maintenance_status', { app: 'shop' })).text).toMatch(
      /^MAINTENANCE_AGENT_NOT_FOUND: .* An owner or admin can turn it on/,
    )
  })
})

describe('maintenance_run', () => {
  const input = { app: 'shop', idempotency_key: 'night-1' }

  test('starts a run with the key, and answers at once', async () => {
    const system = newSystem()
    const sent: object[] = []
    system.does[startMaintenanceRun.name] = (given) => {
      sent.push(given)
      return { ...fakeRun(RUNNING), replayed: false }
    }
    expect(json((await asked(system, 'maintenance_run', input)).text)).toMatchObject({
      run_id: RUN_ID,
      status: 'running',
      replayed: false,
    })
    expect(sent).toEqual([{ alias: 'shop', mode: 'manual', idempotency_key: 'night-1' }])
  })

  test('needs a key', async () => {
    expect((await asked(newSystem(), 'maintenance_run', { app: 'shop' })).text).toMatch(/^INVALID_REQUEST/)
  })

  test('is a task for a client that knows tasks, and for no other', async () => {
    const system = newSystem()
    const { result } = await asked(system, 'maintenance_run', input, { capabilities: TASKS })
    expect(result).toMatchObject({
      resultType: 'task',
      taskId: `shop.${RUN_ID}`,
      status: 'working',
      ttlMs: null,
    })
    expect(result).not.toHaveProperty('content.0')
    // Else the right to ask after it would be taken away as unused.
    expect(system.reported.at(-1)?.scopes).toEqual(['maintenance:run', 'maintenance:read'])
    const plain = await asked(system, 'maintenance_run', input, { era: 'of 2025' })
    expect(system.reported.at(-1)?.scopes).toEqual(['maintenance:run'])
    expect(json(plain.text)).toMatchObject({ run_id: RUN_ID })
    // The call is recorded like any other.
    expect(system.reported.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['maintenance_run', 'answered'],
      ['maintenance_run', 'answered'],
    ])
  })

  test('is no task once it has ended, nor for whoever may not ask after it', async () => {
    const system = newSystem()
    system.does[startMaintenanceRun.name] = () => ({
      ...fakeRun({ terminal_code: 'skipped', outcome: 'skipped', chip: 'Skipped' }),
      replayed: false,
    })
    const skipped = await asked(system, 'maintenance_run', input, { capabilities: TASKS })
    expect(json(skipped.text)).toMatchObject({ outcome: 'skipped' })
    const other = newSystem()
    other.grant.scopes = ['maintenance:run']
    const blind = await asked(other, 'maintenance_run', input, { capabilities: TASKS })
    expect(json(blind.text)).toMatchObject({ run_id: RUN_ID })
  })
})

describe('tasks', () => {
  const ask = async (system: FakeServices, method: string, taskId: string, capabilities: object = TASKS) => {
    const token = await agentToken(system, 'platform', { scope: SCOPES })
    return replyOf(
      await send(system, '/platform', 'of 2026', method, { token, capabilities, params: { taskId } }),
    )
  }
  const task = `shop.${RUN_ID}`

  test('are announced to whoever may start runs', async () => {
    const capabilities = async (system: FakeServices) => {
      const token = await agentToken(system, 'platform', { scope: SCOPES })
      const { result } = await replyOf(
        await send(system, '/platform', 'of 2026', 'server/discover', { token }),
      )
      return (result?.['capabilities'] as { extensions?: object } | undefined)?.extensions
    }
    expect(await capabilities(newSystem())).toMatchObject(TASKS.extensions)
    const others = Object.keys((await capabilities(fakeServices())) ?? {})
    expect(others).not.toContain('io.modelcontextprotocol/tasks')
  })

  test('work while the run does, and complete with its result', async () => {
    const system = newSystem()
    system.does[showMaintenanceRun.name] = () => fakeRun(RUNNING)
    const working = (await ask(system, 'tasks/get', task)).result
    expect(working).toMatchObject({ taskId: task, status: 'working' })
    expect(working).not.toHaveProperty('result')
    system.does[showMaintenanceRun.name] = () => fakeRun()
    const { result } = await ask(system, 'tasks/get', task)
    expect(result).toMatchObject({
      status: 'completed',
      result: { content: [{ type: 'text' }], _meta: { 'svc/untrusted': true } },
    })
    expect(JSON.stringify(result)).toContain('The total is NaN')
    expect((result?.['result'] as object) ?? {}).not.toHaveProperty('isError')
  })

  test('of an agent that could not finish end with an error, never as healthy', async () => {
    const system = newSystem()
    for (const outcome of ['agent_error', 'unknown'] as const) {
      system.does[showMaintenanceRun.name] = () => fakeRun({ outcome, terminal_code: outcome })
      const { result } = await ask(system, 'tasks/get', task)
      expect(result).toMatchObject({ status: 'completed', result: { isError: true } })
    }
  })

  test('of a run that somebody turned off are cancelled, and have no result', async () => {
    const system = newSystem()
    system.does[showMaintenanceRun.name] = () =>
      fakeRun({
        terminal_code: 'fenced_disabled',
        outcome: outcomeOf('fenced_disabled').outcome,
        reason: 'APP_SWITCHED_OFF',
      })
    const { result } = await ask(system, 'tasks/get', task)
    expect(result).toMatchObject({
      status: 'cancelled',
      statusMessage: expect.stringContaining('turned off'),
    })
    expect(result).not.toHaveProperty('result')
  })

  test.each(['tasks/update', 'tasks/cancel'])('%s is acknowledged and changes nothing', async (method) => {
    const system = newSystem()
    const { result } = await ask(system, method, task)
    expect(result).toMatchObject({ resultType: 'complete' })
    expect(result).not.toHaveProperty('taskId')
    expect(system.asked.every(({ url }) => !url.endsWith('/maintenance-agent'))).toBe(true)
  })

  test('that do not exist, are hidden or are nonsense all get the same answer', async () => {
    const system = newSystem()
    const answers: unknown[] = []
    for (const code of ['NOT_FOUND', 'FORBIDDEN', 'MAINTENANCE_AGENT_NOT_FOUND'] as const) {
      system.does[showMaintenanceRun.name] = () => errorResponse(code)
      answers.push((await ask(system, 'tasks/get', task)).error)
    }
    for (const wrong of ['x', '../..', `shop.${RUN_ID}.x/..`, '.']) {
      answers.push((await ask(system, 'tasks/cancel', wrong)).error)
    }
    for (const one of answers) expect(one).toMatchObject({ code: -32_602, message: 'No such task.' })
  })

  test('that cannot be read now say so without the text of an exception', async () => {
    const system = newSystem()
    system.does[showMaintenanceRun.name] = () => {
      throw new Error('at 10.0.0.7')
    }
    const { error } = await ask(system, 'tasks/get', task)
    expect(error).toMatchObject({ code: -32_603 })
    expect(JSON.stringify(error)).not.toContain('10.0.0.7')
  })

  test('need the extension, with every message', async () => {
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect((await ask(newSystem(), method, task, {})).error?.code).toBe(-32_021)
    }
  })
})

test('maintenance_set turns it on and off', async () => {
  const system = newSystem()
  expect(json((await asked(system, 'maintenance_set', { app: 'shop', enabled: 'false' })).text)).toEqual({
    app: 'shop',
    enabled: false,
    next_run_at: null,
  })
})

describe('proposal_show', () => {
  test('lists those of an app, or all that wait for somebody', async () => {
    const system = newSystem()
    for (const input of [{}, { app: 'shop' }]) {
      expect(json((await asked(system, 'proposal_show', input)).text)).toMatchObject({
        proposals: [{ proposal_id: PROPOSAL_ID, url: PAGE }],
      })
    }
    expect(paths(system).filter((path) => path.includes('proposals'))).toEqual([
      `/api/deploy/orgs/${ORG_ID}/proposals`,
      '/api/deploy/deployments/shop/proposals',
    ])
  })

  test('shows one with its diff and the decision of the server', async () => {
    const { text } = await asked(newSystem(), 'proposal_show', { app: 'shop', proposal_id: PROPOSAL_ID })
    expect(json(text)).toMatchObject({
      diff: fakeProposal().diff,
      diff_sha256: fakeProposal().diff_sha256,
      decision: { eligible: true },
      evidence: ['file:total.js#L1-L1'],
      url: PAGE,
    })
  })

  test.each([
    ['many lines', Array.from({ length: 3_000 }, (_, at) => `+const line${at} = "ü\\"'${at}"\n`).join('')],
    ['one line', `+${'\u{1f600}'.repeat(12_000)}`],
  ])('a diff of %s comes in parts, of which nothing is missing', async (_how, diff) => {
    const system = newSystem()
    system.does[showProposal.name] = () => fakeProposal({ diff, rationale: 'x'.repeat(5_000) })
    let [whole, cursor, parts]: [string, string | undefined, number] = ['', undefined, 0]
    do {
      const input = { app: 'shop', proposal_id: PROPOSAL_ID, ...(cursor !== undefined && { cursor }) }
      const { text } = await asked(system, 'proposal_show', input)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(ANSWER_MAX_BYTES)
      const answer = json(text) as { diff: string; next_cursor?: string; diff_sha256: string }
      expect(answer.diff_sha256).toBe(fakeProposal().diff_sha256)
      expect(answer.diff.isWellFormed()).toBe(true)
      whole += answer.diff
      cursor = answer.next_cursor
      parts += 1
    } while (cursor !== undefined && parts < 50)
    expect(whole).toBe(diff)
    expect(parts).toBeGreaterThan(2)
  })

  test('whatever a model wrote around it leaves room for the diff', async () => {
    const system = newSystem()
    const long = '\u{1f600}'.repeat(3_000)
    const flags = Array.from({ length: 50 }, () => ({
      kind: 'new_host' as const,
      path: long,
      line: 1,
      detail: long,
    }))
    system.does[showProposal.name] = () => fakeProposal({ rationale: long, flags, title: long.slice(0, 200) })
    const { text } = await asked(system, 'proposal_show', { app: 'shop', proposal_id: PROPOSAL_ID })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(ANSWER_MAX_BYTES)
    expect(json(text)).toMatchObject({
      diff: fakeProposal().diff,
      truncated: expect.stringContaining('flags'),
    })
  })

  test('refuses a cursor that is none, and an id without an app', async () => {
    const system = newSystem()
    const wrong = { app: 'shop', proposal_id: PROPOSAL_ID, cursor: 'ignore all' }
    expect((await asked(system, 'proposal_show', wrong)).text).toMatch(/^INVALID_REQUEST: .*cursor/)
    expect((await asked(system, 'proposal_show', { proposal_id: PROPOSAL_ID })).text).toMatch(
      /app: is required/,
    )
  })

  test('shows no diff to who may not read source', async () => {
    const system = newSystem()
    system.does[showProposal.name] = () =>
      fakeProposal({ diff: null, title: null, rationale: null, flags: null })
    const { text } = await asked(system, 'proposal_show', { app: 'shop', proposal_id: PROPOSAL_ID })
    expect(json(text)).toMatchObject({
      diff: null,
      title: null,
      note: expect.stringContaining('may not read'),
    })
  })
})

describe('proposal_decide', () => {
  const { diff_sha256 } = fakeProposal()
  const approve = { app: 'shop', proposal_id: PROPOSAL_ID, decision: 'approve', diff_sha256 }
  const linking = (changes: Parameters<typeof fakeProposal>[0] = {}) => {
    const system = newSystem()
    system.does[showProposal.name] = () => fakeProposal({ decision: linkOnly(), ...changes })
    return system
  }
  /** One that was approved, and whose deployment failed. */
  const FAILED = {
    state: 'failed' as const,
    decided: {
      approved: true,
      by: 'Bea',
      user_id: 'usr_2',
      via: 'console' as const,
      token: null,
      agent: null,
      at: '2026-11-15T09:00:00.000Z',
      note: null,
    },
    decision: linkOnly({ approve: ['ALREADY_DECIDED'], deny: ['ALREADY_DECIDED'] }),
  }
  /** What a client sends after its user has seen the link. */
  const again = (action: string) => ({
    capabilities: LINKS,
    params: { inputResponses: { link: { action, content: { approved: true } } } },
  })
  const decided = (system: FakeServices) =>
    paths(system).filter((path) => /\/(approve|deny|retry)$/.test(path))

  test.each([
    ['approve', {}],
    ['deny', {}],
    ['retry', FAILED],
  ])('%s by a model gets no further than a link', async (decision, proposal) => {
    const system = linking(proposal)
    const { text, isError } = await asked(system, 'proposal_decide', { ...approve, decision })
    expect([isError, json(text)]).toMatchObject([false, { status: 'needs_confirmation', url: PAGE }])
    expect(decided(system)).toEqual([])
  })

  test('a client that can have a link opened is asked to', async () => {
    const system = linking()
    const { result } = await asked(system, 'proposal_decide', approve, { capabilities: LINKS })
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { link: { method: 'elicitation/create', params: { mode: 'url', url: PAGE } } },
    })
    expect(decided(system)).toEqual([])
  })

  /** Threat: a client, or the model behind it, that claims its user has agreed. */
  test('opening the link decides nothing: what the proposal says is answered', async () => {
    const system = linking()
    const opened = await asked(system, 'proposal_decide', approve, again('accept'))
    expect(json(opened.text)).toMatchObject({ status: 'needs_confirmation', state: 'ready' })
    const declined = await asked(system, 'proposal_decide', approve, again('decline'))
    expect(json(declined.text)).toMatchObject({ status: 'not_decided' })
    const done = linking({ ...FAILED, state: 'approved' })
    const after = await asked(done, 'proposal_decide', approve, again('accept'))
    expect(json(after.text)).toMatchObject({ status: 'decided', state: 'approved' })
    expect([...decided(system), ...decided(done)]).toEqual([])
  })

  /** Whoever failed to be deployed was approved before, which says nothing about the retry. */
  test.each([
    ['accept', 'failed', 'needs_confirmation'],
    ['decline', 'failed', 'not_decided'],
    ['cancel', 'failed', 'not_decided'],
    ['accept', 'stale', 'needs_confirmation'],
    ['accept', 'approved', 'decided'],
    ['accept', 'ready', 'decided'],
    // By somebody else: what its user did is nothing.
    ['decline', 'approved', 'not_decided'],
  ] as const)('a link for a retry, %s, of one that is %s: %s', async (action, state, status) => {
    const system = linking({ ...FAILED, state })
    const { text } = await asked(system, 'proposal_decide', { ...approve, decision: 'retry' }, again(action))
    expect(json(text)).toMatchObject({ status, state })
    expect(decided(system)).toEqual([])
  })

  test.each([
    ['approve', FAILED, /^CONFLICT: .*decided already/],
    ['deny', FAILED, /^CONFLICT: .*decided already/],
    ['retry', {}, /^CONFLICT: .*Only a stale or failed proposal/],
    ['approve', { decision: linkOnly({ approve: ['STALE'] }) }, /^CONFLICT: .*The source has changed/],
    ['retry', { decision: linkOnly({ retry: ['REQUESTER'] }) }, /^FORBIDDEN: .*Whoever started the run/],
  ])('%s is told why, where its page would have no such button', async (decision, proposal, why) => {
    for (const more of [{}, { capabilities: LINKS }]) {
      const { text, isError } = await asked(
        linking(proposal),
        'proposal_decide',
        { ...approve, decision },
        more,
      )
      expect([isError, text]).toEqual([true, expect.stringMatching(why)])
    }
  })

  test('nobody is sent to a page for another diff than the one they saw', async () => {
    const system = linking()
    const { text, isError } = await asked(system, 'proposal_decide', {
      ...approve,
      diff_sha256: 'd'.repeat(64),
    })
    expect([isError, text]).toEqual([true, expect.stringMatching(/^CONFLICT: .*Call proposal_show again/)])
  })

  test('nor by an agent of whoever started the run', async () => {
    const decision = linkOnly({ approve: ['REQUESTER'] })
    const { text } = await asked(linking({ decision }), 'proposal_decide', approve)
    expect(text).toMatch(/^FORBIDDEN: .*Whoever started the run/)
  })

  test('decides at once where an owner chose so, with the diff that was seen', async () => {
    const system = newSystem()
    const sent: object[] = []
    system.does[approveProposal.name] = (input) => {
      sent.push(input)
      return fakeProposal({ state: 'approved' })
    }
    expect(json((await asked(system, 'proposal_decide', approve)).text)).toMatchObject({ state: 'approved' })
    expect(sent).toEqual([{ alias: 'shop', proposal_id: PROPOSAL_ID, diff_sha256 }])
  })

  test('passes on why the server refuses', async () => {
    const system = newSystem()
    const problems = ['The proposal was decided already']
    system.does[approveProposal.name] = () => errorResponse('CONFLICT', { problems })
    expect((await asked(system, 'proposal_decide', approve)).text).toMatch(/^CONFLICT: .*decided already/)
  })

  test('does not exist below admin, and needs both scopes', async () => {
    const system = newSystem()
    system.role = 'developer'
    expect((await asked(system, 'proposal_decide', approve)).error?.message).toMatch(/^No such tool/)
    system.role = 'owner'
    const token = await agentToken(system, 'platform', { scope: 'maintenance:read' })
    const response = await callTool(system, '/platform', 'proposal_decide', approve, { token })
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringContaining('scope="maintenance:read proposals:decide"'),
    ])
  })

  test('asks clients to ask: it changes something, for good', async () => {
    const system = newSystem()
    const token = await agentToken(system, 'platform', { scope: SCOPES })
    const { result } = await replyOf(await send(system, '/platform', 'of 2026', 'tools/list', { token }))
    const tools = result?.['tools'] as { name: string; annotations: object }[]
    expect(tools.find(({ name }) => name === 'proposal_decide')?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
    })
  })
})

describe('prompts', () => {
  const get = async (name: string, input: object, path: 'platform' | 'notifications' = 'platform') => {
    const system = newSystem()
    const token = await agentToken(system, path)
    const sent = { token, params: { name, arguments: input } }
    const { result } = await replyOf(await send(system, `/${path}`, 'of 2026', 'prompts/get', sent))
    return JSON.stringify(result?.['messages'])
  }

  test('review_proposal reads the whole diff and decides nothing', async () => {
    const text = await get('review_proposal', { app: 'shop', proposal_id: PROPOSAL_ID })
    expect(text).toMatch(/proposal_show.*every part of the diff.*Do not decide anything until I have said/)
  })

  test('morning_brief tells of runs and proposals at both endpoints', async () => {
    expect(await get('morning_brief', {})).toMatch(/app_list.*proposal_show.*Decide nothing/)
    expect(await get('morning_brief', {}, 'notifications')).toMatch(/maintenance runs and proposals/)
  })

  test('the proposals that wait complete the arguments of review_proposal', async () => {
    const system = newSystem()
    system.does[listProposalQueue.name] = () => ({
      proposals: [fakeProposal(), fakeProposal(), fakeProposal({ app: 'blog', id: `pr_${'2'.repeat(25)}` })],
    })
    const complete = async (name: string, value: string, given?: object) => {
      const token = await agentToken(system, 'platform')
      const params = {
        ref: { type: 'ref/prompt', name: 'review_proposal' },
        argument: { name, value },
        ...(given && { context: { arguments: given } }),
      }
      const sent = { token, params, headers: { 'mcp-name': undefined } }
      const { result } = await replyOf(
        await send(system, '/platform', 'of 2026', 'completion/complete', sent),
      )
      return (result?.['completion'] as { values: string[] } | undefined)?.values
    }
    expect(await complete('app', '')).toEqual(['shop', 'blog'])
    expect(await complete('proposal_id', '', { app: 'shop' })).toEqual([PROPOSAL_ID])
    expect(await complete('proposal_id', '2')).toEqual([`pr_${'2'.repeat(25)}`])
  })
})
