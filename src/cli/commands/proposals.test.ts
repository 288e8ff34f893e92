import { describe, expect, test } from 'vitest'
import { fakeProposal, PROPOSAL_ID } from '../../../test/support/fake-maintenance.ts'
import { fakeEnvironment } from '../../../test/support/fake-environment.ts'
import { explainReason } from '../../contracts/proposal-decisions.ts'
import type { CommandContext } from '../command-context.ts'
import { formatOutput } from '../format-output.ts'
import { shownDiff } from '../diff-text.ts'
import { sanitizeLine } from '../terminal-text.ts'
import { approveProposal, denyProposal, showProposal, retryProposal } from './proposals.ts'

function clientOf({ terminal = false, stdin = '', hasPager = true, proposal = fakeProposal() } = {}) {
  const paged: string[] = []
  const fake = fakeEnvironment({ terminal, stdin })
  const environment = {
    ...fake,
    showInPager: async (text: string) => {
      if (hasPager) paged.push(text)
      return hasPager
    },
  }
  const calls: [name: string, input: object][] = []
  const ctx = {
    environment,
    settings: { format: undefined, timeoutMs: 30_000, interactive: terminal, color: terminal },
    info: (line: string) => void fake.stderr.write(`${sanitizeLine(line)}\n`),
    print: (data: unknown, view: Parameters<typeof formatOutput>[1]) =>
      void fake.stdout.write(formatOutput(data, view, 'table')),
    callOperation: async (name: string, input: object) => {
      calls.push([name, input])
      return proposal
    },
  } as unknown as CommandContext
  return { ctx, calls, paged, out: fake.out, err: fake.err }
}

const args = { app: 'shop', proposal_id: PROPOSAL_ID }

describe('show', () => {
  test('at a terminal the diff is colored and paged, in a pipe it is neither', async () => {
    const terminal = clientOf({ terminal: true })
    await showProposal(terminal.ctx, { args, options: { diff: true } })
    expect(terminal.out()).toBe('')
    expect(terminal.paged[0]).toContain('\u001b[32m+count\u001b[0m')
    const pipe = clientOf()
    await showProposal(pipe.ctx, { args, options: { diff: true } })
    expect(pipe.paged).toEqual([])
    expect(pipe.out()).toContain('\n-NaN\n+count\n')
    expect(pipe.out()).not.toContain('\u001b')
  })

  test('without --diff there is none; what to look at, evidence and reasons are there', async () => {
    const proposal = fakeProposal({
      flags: [{ kind: 'new_host', path: 'a.js', line: 3, detail: 'evil.example' }],
      decision: {
        eligible: false,
        can: { approve: false, deny: true, retry: false },
        reasons: {
          approve: [explainReason('REQUESTER')],
          deny: [],
          retry: [explainReason('NOTHING_TO_RETRY')],
        },
        required_roles: ['owner', 'admin'],
      },
    })
    const { ctx, out } = clientOf({ proposal })
    await showProposal(ctx, { args, options: {} })
    expect(out()).toMatch(
      /you may: +deny\n[^]*\n  approve: Whoever started the run[^]*a\.js:3 .*evil\.example[^]*file:total\.js/,
    )
    // Nobody asked about what its state does not allow.
    expect(out()).not.toContain('Only a stale or failed')
    expect(out()).not.toContain('+count')
  })

  /** Threat: what a model wrote reaches the terminal as commands, or hides in the diff. */
  test('whatever is written in it is shown, not executed', async () => {
    const evil = 'x\u001b]0;owned\u0007\u202e\u200b\u3164\u{e0041}\ufe0f'
    const proposal = fakeProposal({ title: evil, rationale: evil, diff: `+${evil}\n` })
    const { ctx, paged } = clientOf({ terminal: true, proposal })
    await showProposal(ctx, { args, options: { diff: true } })
    for (const raw of ['\u0007', '\u202e', '\u001b]', '\u200b', '\u3164', '\u{e0041}', '\ufe0f']) {
      expect(paged[0]).not.toContain(raw)
    }
    const shown = String.raw`x\u001b]0;owned\u0007\u202e\u200b\u3164\u{e0041}\ufe0f`
    // Title, rationale and diff.
    expect(paged[0]?.split(shown)).toHaveLength(4)
  })

  test('who may not read source is told so', async () => {
    const { ctx, out } = clientOf({
      proposal: fakeProposal({ diff: null, title: null, rationale: null, flags: null }),
    })
    await showProposal(ctx, { args, options: { diff: true } })
    expect(out()).toContain('You may not read the source of this app.')
  })

  test('with the diff it says how to approve exactly this one, to whoever may', async () => {
    const shown = clientOf()
    await showProposal(shown.ctx, { args, options: { diff: true } })
    expect(shown.err()).toContain(
      `svc apps proposals approve shop ${PROPOSAL_ID} --diff-sha256 ${'b'.repeat(64)}`,
    )
    expect(shown.out()).not.toContain('--diff-sha256')
    const decision = { ...fakeProposal().decision, can: { approve: false, deny: true, retry: false } }
    const other = clientOf({ proposal: fakeProposal({ decision }) })
    await showProposal(other.ctx, { args, options: { diff: true } })
    expect(other.err()).toBe('')
  })
})

/** Threat: a line of a file that passes for the header of another file. */
test('only headers are painted as headers', () => {
  const painted = shownDiff(
    'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n x\n+++ b/secret.js\n--- a/y\ndiff --git a/z b/z\n',
    true,
  )
  expect(painted.split('\n')).toEqual([
    '\u001b[1mdiff --git a/x b/x\u001b[0m',
    '\u001b[1m--- a/x\u001b[0m',
    '\u001b[1m+++ b/x\u001b[0m',
    '\u001b[36m@@ -1 +1,2 @@\u001b[0m',
    ' x',
    '\u001b[32m+++ b/secret.js\u001b[0m',
    '\u001b[31m--- a/y\u001b[0m',
    '\u001b[1mdiff --git a/z b/z\u001b[0m',
    '',
  ])
})

describe('approve', () => {
  test('sends the digest of what was read just now', async () => {
    const { ctx, calls } = clientOf()
    await approveProposal(ctx, { args, options: { yes: true } })
    expect(calls).toEqual([
      ['showProposal', { alias: 'shop', proposal_id: PROPOSAL_ID }],
      ['approveProposal', { alias: 'shop', proposal_id: PROPOSAL_ID, diff_sha256: 'b'.repeat(64) }],
    ])
  })

  /** Threat: what was looked at has been replaced since, and a script goes on. */
  test('with a digest decides on that diff or on none', async () => {
    const same = clientOf()
    await approveProposal(same.ctx, { args, options: { yes: true, 'diff-sha256': 'b'.repeat(64) } })
    expect(same.calls.at(-1)).toMatchObject(['approveProposal', { diff_sha256: 'b'.repeat(64) }])
    for (const decide of [approveProposal, denyProposal]) {
      const changed = clientOf()
      const options = { yes: true, 'diff-sha256': 'c'.repeat(64) }
      await expect(decide(changed.ctx, { args, options })).rejects.toMatchObject({
        code: 'CONFLICT',
        problems: [expect.stringContaining('DIFF_CHANGED')],
        hint: expect.stringContaining(`svc apps proposals show shop ${PROPOSAL_ID} --diff`),
      })
      expect(changed.calls.map(([name]) => name)).toEqual(['showProposal'])
    }
  })

  test.each([true, false])(
    'shows the diff before it asks, and a no decides nothing; a pager: %s',
    async (hasPager) => {
      const { ctx, calls, err, out, paged } = clientOf({ terminal: true, stdin: 'n\n', hasPager })
      await expect(approveProposal(ctx, { args, options: {} })).rejects.toThrow('Canceled')
      expect(hasPager ? paged[0] : err()).toContain('\u001b[32m+count\u001b[0m')
      expect(err()).toContain(
        `Approve ${PROPOSAL_ID} of shop? It becomes the head, and is deployed; or a pull request`,
      )
      expect(out()).toBe('')
      expect(calls.map(([name]) => name)).toEqual(['showProposal'])
    },
  )

  test.each([
    ['failed', 'It is deployed or opened again, or becomes stale'],
    ['stale', 'It is applied to the new source'],
  ] as const)('a retry of one that %s says what that does', async (state, what) => {
    const decision = {
      ...fakeProposal().decision,
      reasons: { approve: [explainReason('ALREADY_DECIDED')], deny: [], retry: [] },
    }
    const proposal = fakeProposal({ state, decision })
    const { ctx, err } = clientOf({ terminal: true, stdin: 'n\n', proposal })
    await expect(retryProposal(ctx, { args, options: {} })).rejects.toThrow('Canceled')
    expect(err()).toContain(`Retry ${PROPOSAL_ID} of shop? ${what}`)
  })

  test.each([
    ['ROLE', 'FORBIDDEN'],
    ['STALE', 'CONFLICT'],
  ] as const)('nobody is asked about what the server would refuse: %s', async (reason, code) => {
    const { decision } = fakeProposal()
    const reasons = { ...decision.reasons, approve: [explainReason(reason)] }
    const proposal = fakeProposal({ decision: { ...decision, eligible: false, reasons } })
    const { ctx, calls, err, paged } = clientOf({ terminal: true, stdin: 'y\n', proposal })
    await expect(approveProposal(ctx, { args, options: {} })).rejects.toMatchObject({
      code,
      problems: [expect.stringContaining(reason)],
    })
    expect([err(), paged, calls.map(([name]) => name)]).toEqual(['', [], ['showProposal']])
  })

  test('without a terminal it needs --yes', async () => {
    const { ctx, calls } = clientOf()
    await expect(approveProposal(ctx, { args, options: {} })).rejects.toThrow('Confirmation required')
    expect(calls.map(([name]) => name)).toEqual(['showProposal'])
  })
})

test.each([
  ['deny', denyProposal, 'denyProposal'],
  ['retry', retryProposal, 'retryProposal'],
] as const)('%s is sent as that, and what follows from it is told', async (action, decide, operation) => {
  const { decision } = fakeProposal()
  const reasons = { approve: [], deny: [], retry: [] }
  const proposal = fakeProposal({ decision: { ...decision, reasons }, deployment_id: 'dep_1' })
  const { ctx, calls, err } = clientOf({ proposal })
  await decide(ctx, { args, options: { yes: true } })
  expect(calls.map(([name]) => name)).toEqual(['showProposal', operation])
  // A denial deploys nothing that one could follow.
  expect(err()).toBe(
    action === 'deny' ? '' : 'Follow it with: svc apps deployments output shop dep_1 --follow\n',
  )
})

test('who decided is named, with the token or the agent that they used', async () => {
  const decided = {
    approved: true,
    by: 'Ada',
    at: '2026-11-15',
    token: null,
    agent: null,
    via: 'api',
    note: null,
  }
  const shown = async (more: object) => {
    const proposal = { ...fakeProposal(), decided: { ...decided, ...more } } as never
    const { ctx, out } = clientOf({ proposal })
    await showProposal(ctx, { args, options: {} })
    return /decided: +(.*)/.exec(out())![1]
  }
  expect(await shown({})).toBe('approved by Ada, 2026-11-15')
  expect(await shown({ approved: false, token: { id: 'tok_1', name: 'ci' } })).toBe(
    'denied by Ada with the API token ci, 2026-11-15',
  )
  expect(await shown({ agent: { id: 'grt_1', name: null } })).toBe(
    'approved by Ada by the agent grt_1, 2026-11-15',
  )
})
