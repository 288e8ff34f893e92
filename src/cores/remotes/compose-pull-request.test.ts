import { describe, expect, test } from 'vitest'
import { branchOf, composePullRequest } from './compose-pull-request.ts'

const composed = (given: Partial<Parameters<typeof composePullRequest>[0]> = {}) =>
  composePullRequest({
    id: 'pr_1',
    title: 'Repair the sum',
    rationale: 'Because of the log.',
    link: 'https://svc.test/console/apps/shop/proposals/pr_1',
    evidence: [{ ref: 'log:lgl_1', text: 'TypeError: price' }],
    ...given,
  })

/** What stands outside of code blocks: hosts act on that alone. */
const outsideBlocks = (body: string): string => {
  let fence: string | undefined
  return body
    .split('\n')
    .filter((line) => {
      const mark = /^(`{3,})(?:text)?$/.exec(line)?.[1]
      if (mark !== undefined && (fence === undefined || mark === fence)) {
        fence = fence === undefined ? mark : undefined
        return false
      }
      return fence === undefined
    })
    .join('\n')
}

describe('a pull request', () => {
  test('says why, shows what was read, and leads back', () => {
    const { title, body } = composed()
    expect(title).toBe('svc: maintenance proposal pr_1')
    for (const part of ['Repair the sum', 'Because of the log.', 'TypeError: price', '/proposals/pr_1']) {
      expect(body).toContain(part)
    }
  })

  test.each([
    '/merge',
    '[skip ci] closes #12',
    '```\n/merge\n@everyone closes #1',
    '````\n```\n/approve',
    '![x](https://evil.test/pixel)',
    '~~~\n<img src=x>',
  ])('is a quote of what others wrote, whatever they wrote: %j', (text) => {
    const { body, title, message } = composed({
      rationale: text,
      title: text,
      evidence: [{ ref: text, text }],
    })
    expect(outsideBlocks(body)).toBe(outsideBlocks(composed().body))
    expect(title).toBe(composed().title)
    expect(message).toBe(composed().message)
  })

  test('for everybody has the link, and no word of the model or the logs', () => {
    const { publicBody } = composed()
    expect(publicBody).toContain('/proposals/pr_1')
    for (const part of ['Repair', 'Because of the log.', 'TypeError', 'log:lgl_1']) {
      expect(publicBody).not.toContain(part)
    }
  })

  test('has no secret in it', () => {
    const text = 'password=hunter2-hunter2'
    const { body, title } = composed({ rationale: text, title: text, evidence: [{ ref: 'log:1', text }] })
    expect(body + title).not.toContain('hunter2')
  })

  test('is bounded, and counts what it leaves out', () => {
    const text = `${'x'.repeat(5_000)}\n`.repeat(500)
    const evidence = Array.from({ length: 9 }, (_, n) => ({ ref: `log:${n}`, text }))
    const { body } = composed({ rationale: text, title: text, evidence })
    expect(body.length).toBeLessThan(30_000)
    expect(body).toContain('And 4 more')
    expect(body).toContain('481 more lines')
  })

  test('has a branch of its own each time', () => {
    expect([1, 2].map((ordinal) => branchOf({ id: 'pr_1', ordinal }))).toEqual(['svc/pr_1', 'svc/pr_1-2'])
  })
})
