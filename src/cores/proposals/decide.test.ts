import { describe, expect, test } from 'vitest'
import { PROPOSAL_STATES, type ProposalState } from '../../contracts/outcomes.ts'
import { PROPOSAL_ACTIONS, reasonsToTell } from '../../contracts/proposal-decisions.ts'
import { decisionFor, reasonsAgainst, type Decider } from './decide.ts'

const AUTHOR = 'run:exec_1'
const proposal = (state: ProposalState, requester: string | null = null, isMerged = false) => ({
  state,
  authorId: AUTHOR,
  requesterIds: requester === null ? [] : [requester],
  isMerged,
})
const LINK = { isOn: true, mcpDecisions: 'link' } as const
const DIRECT = { isOn: true, mcpDecisions: 'direct' } as const
const admin: Decider = {
  userId: 'usr_a',
  machineUserIds: new Set(['usr_machine']),
  role: 'admin',
  isAgent: false,
  isSupport: false,
}
const reasons = (who: Partial<Decider>, requestedById: string | null = null) =>
  reasonsAgainst('approve', proposal('ready', requestedById), { ...admin, ...who }, LINK)

describe('who may approve', () => {
  test('an owner or admin who has nothing to do with it', () => {
    expect(reasons({})).toEqual([])
    expect(reasons({ role: 'owner' }, 'usr_b')).toEqual([])
  })
  test.each([
    ['the author', { userId: AUTHOR }, ['AUTHOR']],
    ['a developer', { role: 'developer' as const }, ['ROLE']],
    ['a viewer', { role: 'viewer' as const }, ['ROLE']],
    ['who is no member any more', { role: null }, ['ROLE']],
    ['an agent', { isAgent: true }, ['AGENT']],
    ['support staff', { isSupport: true }, ['SUPPORT_SESSION']],
  ])('not %s', (_who, given, expected) => {
    expect(reasons(given)).toEqual(expected)
  })
  test('not who could have started it through a machine agent', () => {
    expect(reasons({ role: 'owner' }, 'usr_machine')).toEqual(['REQUESTER'])
  })
  test('not who started the run, whatever else they are', () => {
    expect(reasons({ role: 'owner' }, 'usr_a')).toEqual(['REQUESTER'])
    expect(reasons({ role: 'viewer', isAgent: true }, 'usr_a')).toEqual(['ROLE', 'REQUESTER', 'AGENT'])
  })
  test('an agent, where an owner chose so', () => {
    expect(reasonsAgainst('approve', proposal('ready'), { ...admin, isAgent: true }, DIRECT)).toEqual([])
  })
})

test.each<[ProposalState, { approve: boolean; deny: boolean; retry: boolean }, string[]]>([
  ['preparing', { approve: false, deny: false, retry: false }, ['NOT_READY']],
  ['ready', { approve: true, deny: true, retry: false }, []],
  ['approved', { approve: false, deny: false, retry: false }, ['ALREADY_DECIDED']],
  ['deploying', { approve: false, deny: false, retry: false }, ['ALREADY_DECIDED']],
  ['deployed', { approve: false, deny: false, retry: false }, ['ALREADY_DECIDED']],
  ['failed', { approve: false, deny: false, retry: true }, ['ALREADY_DECIDED']],
  ['denied', { approve: false, deny: false, retry: false }, ['ALREADY_DECIDED']],
  ['stale', { approve: false, deny: true, retry: true }, ['STALE']],
])('what an admin may do with a proposal that is %s', (state, can, codes) => {
  const decision = decisionFor(proposal(state), admin, LINK)
  expect(decision.can).toEqual(can)
  expect(decision.eligible).toBe(can.approve)
  expect(decision.reasons.approve.map(({ code }) => code)).toEqual(codes)
  for (const action of PROPOSAL_ACTIONS) expect(decision.reasons[action].length === 0).toBe(can[action])
})

describe('what a reader is told', () => {
  const told = (state: ProposalState, who: Partial<Decider>, requestedById: string | null = null) =>
    reasonsToTell(decisionFor(proposal(state, requestedById), { ...admin, ...who }, LINK).reasons).map(
      ({ code, actions }) => [code, actions.join()],
    )

  test.each<[string, ProposalState, Partial<Decider>, string | null, string[][]]>([
    ['nothing, if they may approve', 'ready', {}, null, []],
    ['a viewer', 'ready', { role: 'viewer' }, null, [['ROLE', 'approve,deny']]],
    ['whoever started the run', 'ready', {}, 'usr_a', [['REQUESTER', 'approve']]],
    ['that it is stale', 'stale', {}, null, [['STALE', 'approve']]],
    [
      'a viewer of a stale one',
      'stale',
      { role: 'viewer' },
      null,
      [
        ['ROLE', 'approve,deny,retry'],
        ['STALE', 'approve'],
      ],
    ],
    [
      'whoever started the run, of one that failed',
      'failed',
      {},
      'usr_a',
      [
        ['REQUESTER', 'approve,retry'],
        ['ALREADY_DECIDED', 'approve'],
      ],
    ],
    ['that it was denied', 'denied', {}, null, [['ALREADY_DECIDED', 'approve']]],
  ])('%s', (_what, state, who, requestedById, expected) => {
    expect(told(state, who, requestedById)).toEqual(expected)
  })
})

test('whoever started the run may deny it and have it applied anew, but not deploy it', () => {
  const can = (state: ProposalState) => decisionFor(proposal(state, 'usr_a'), admin, LINK).can
  expect(can('ready')).toEqual({ approve: false, deny: true, retry: false })
  expect(can('stale').retry).toBe(true)
  expect(can('failed').retry).toBe(false)
})

test('what is merged, and waits for a push, may be ended or looked at again; by whoever started the run only ended', () => {
  const can = (state: ProposalState, requester: string | null = null) =>
    decisionFor(proposal(state, requester, true), admin, LINK).can
  expect(can('deploying')).toEqual({ approve: false, deny: true, retry: true })
  expect(can('deploying', 'usr_a')).toEqual({ approve: false, deny: true, retry: false })
  expect(can('deployed')).toEqual({ approve: false, deny: false, retry: false })
})

test('a viewer may do nothing in any state', () => {
  for (const state of PROPOSAL_STATES) {
    const { can } = decisionFor(proposal(state), { ...admin, role: 'viewer' }, DIRECT)
    expect(can).toEqual({ approve: false, deny: false, retry: false })
  }
})

test('nobody may do anything while it is off', () => {
  for (const state of PROPOSAL_STATES) {
    const { eligible, can, reasons: why } = decisionFor(proposal(state), admin, { ...LINK, isOn: false })
    expect([eligible, can]).toEqual([false, { approve: false, deny: false, retry: false }])
    expect(why.approve[0]).toEqual({
      code: 'MAINTENANCE_OFF',
      message: 'The maintenance agent is turned off',
    })
  }
})
