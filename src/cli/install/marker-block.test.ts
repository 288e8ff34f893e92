import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CURRENT_BODY, EARLIER_BODY, toySkill } from '../../../test/support/toy-skill.ts'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { findBlock } from './marker-block.ts'
import { decideBlock } from './plan.ts'
import type { Found } from './read-existing-file.ts'

const skill = toySkill()
const fileOf = (bytes: Uint8Array | string): Found => ({
  is: 'file',
  bytes: Buffer.from(bytes as string),
  mode: 0o644,
  uid: 0,
  gid: 0,
})
const decide = (bytes: Uint8Array | string) => decideBlock(skill, 'project', fileOf(bytes))
const after = (bytes: Uint8Array | string): Buffer => {
  const decision = decide(bytes)
  if (!('after' in decision)) throw new Error(`nothing is written: ${JSON.stringify(decision)}`)
  return decision.after
}

const BEGIN = '<!-- BEGIN svc-skill:toy (as it was called once) -->'
const END = '<!-- END svc-skill:toy -->'
const blockOf = (body: string) => `${BEGIN}\n${body}${END}\n`

test('a file without the block gets it at its end, a blank line between', () => {
  expect(after('# Mine\n').toString()).toMatchInlineSnapshot(`
    "# Mine

    <!-- BEGIN svc-skill:toy (managed by "svc skills install toy"; edits between the markers are refused without --force) -->
    ## Toy

    Use toy, naïvely. Read \`.agents/skills/toy/SKILL.md\` first.
    <!-- END svc-skill:toy -->
    "
  `)
  expect(decide('# Mine\n')).toMatchObject({ action: 'add' })
})

test('at home the way to the skill begins at home', () => {
  const { after } = decideBlock(skill, 'user', { is: 'missing' }) as { after: Buffer }
  expect(after.toString()).toContain('`~/.agents/skills/toy/SKILL.md`')
  expect(decideBlock(skill, 'user', fileOf(after))).toEqual({ action: 'leave' })
  // Known as ours, so put right without a question.
  expect(decideBlock(skill, 'user', fileOf(blockOf(EARLIER_BODY)))).toMatchObject({ action: 'update' })
})

test.each([
  ['empty', '', /^<!-- BEGIN/],
  ['only a byte order mark', '\ufeff', /^\ufeff<!-- BEGIN/],
  ['no final newline', 'mine', /^mine\n\n<!-- BEGIN[^]*-->$/],
  ['CRLF', 'a\r\nb\r\n', /^a\r\nb\r\n\r\n<!-- BEGIN[^\n]*\r\n## Toy\r\n\r\n[^]*-->\r\n$/],
  ['mostly CRLF', 'a\r\nb\r\nc\n', /^a\r\nb\r\nc\n\r\n<!-- BEGIN/],
  ['mostly LF', 'a\r\nb\nc\n', /^a\r\nb\nc\n\n<!-- BEGIN/],
  ['CRLF, no final newline', 'a\r\nb', /^a\r\nb\r\n\r\n<!-- BEGIN[^]*-->$/],
  ['a blank line at the end', 'a\n\n', /^a\n\n<!-- BEGIN/],
  ['an indented example', `  ${BEGIN}\n  x\n  ${END}\n`, /^ {2}<!-- BEGIN[^]*\n\n<!-- BEGIN/],
  ['markers of a skill whose name begins like ours', '<!-- BEGIN svc-skill:toy-two -->\n', /\n\n<!-- BEGIN/],
  ['markers in the middle of a line', `See ${BEGIN} and ${END}.\n`, /\n\n<!-- BEGIN/],
])('appended to: %s', (_, text, expected) => {
  const written = after(text)
  expect(written.toString()).toMatch(expected)
  expect(decide(written)).toEqual({ action: 'leave' })
})

test.each([
  ['the present one', blockOf(CURRENT_BODY), 'leave'],
  ['the present one with CRLF', blockOf(CURRENT_BODY).replaceAll('\n', '\r\n'), 'leave'],
  ['blank lines that a formatter put beside the markers', blockOf(`\n${CURRENT_BODY}\n`), 'leave'],
  ['spaces behind the markers', `${BEGIN}  \n${CURRENT_BODY}${END}\t\n`, 'leave'],
  ['under a fence that is never closed', `\`\`\`\n${blockOf(CURRENT_BODY)}`, 'leave'],
  ['between two fences', `\`\`\`\nx\n\`\`\`\n${blockOf(CURRENT_BODY)}~~~\nx\n~~~\n`, 'leave'],
  ['one of an earlier release', blockOf(EARLIER_BODY), 'update'],
  ['an edited one', blockOf(`${CURRENT_BODY}Mine.\n`), 'refuse'],
  ['an emptied one', blockOf(''), 'refuse'],
  ['the present one in other letters', blockOf(CURRENT_BODY.replace('ï', 'i')), 'refuse'],
])('block: %s', (_, block, action) => {
  for (const text of [block, `mine\n${block}`, `\ufeff${block}mine`])
    expect(decide(text)).toMatchObject({ action })
})

test.each([
  ['a lone BEGIN', `${BEGIN}\nmine\n`, /line 1 begins a block that does not end/],
  ['a lone END', `mine\n${END}\n`, /line 2 ends a block that does not begin/],
  ['END before BEGIN', `${END}\nmine\n${BEGIN}\n`, /do not match.*lines 1, 3/],
  ['two blocks', blockOf(CURRENT_BODY) + blockOf(CURRENT_BODY), /more than one block/],
  ['BEGIN twice', `${BEGIN}\n${BEGIN}\n`, /do not match/],
  ['text behind END', `${BEGIN}\n${END} mine\n`, /line 2 is not a complete marker/],
  ['text behind BEGIN', `${BEGIN} mine -->\n${END}\n`, /line 1 is not a complete marker/],
  ['a marker cut off', `<!-- BEGIN svc-skill:toy (mana\n${END}\n`, /line 1 is not a complete marker/],
  ['a marker in other letters', `${BEGIN}\n<!-- end svc-skill:toy -->\n`, /line 2 is not a complete marker/],
  ['another block inside', blockOf('<!-- BEGIN svc-skill:two -->\n'), /another block/],
  ['half of another block inside', blockOf('<!-- END svc-skill:two -->\n'), /another block/],
  ['an example in a fence', `\`\`\`md\n${blockOf(CURRENT_BODY)}\`\`\`\n`, /code fence/],
  ['an example in a longer fence', `~~~~\n~~~\n${blockOf('x\n')}~~~~\nmine\n`, /code fence/],
])('never guessed at, not even when forced: %s', (_, text, why) => {
  expect(decide(text)).toEqual({ action: 'block', why: expect.stringMatching(why) })
  expect(decide(text.replaceAll('\n', '\r\n'))).toEqual({ action: 'block', why: expect.stringMatching(why) })
})

test.each([
  ['UTF-16, little end first', Buffer.from('\ufeffmine', 'utf16le')],
  ['UTF-16, big end first', Buffer.from('\ufeffmine', 'utf16le').swap16()],
  ['UTF-16 without a mark', Buffer.from('mine', 'utf16le')],
  ['NUL bytes', Buffer.from('mine\0')],
])('a block in UTF-8 would spoil it: %s', (_, bytes) => {
  expect(decide(bytes)).toMatchObject({ action: 'block', why: expect.stringContaining('--no-agents') })
})

const words = fc.constantFrom('mine', '# T', '```', '~~~', ' ', '\t', 'svc', '<!--', '-->', '\r', 'ï')
const lineEnd = fc.constantFrom('\n', '\r\n', '')
const foreign = fc
  .array(
    fc.oneof(
      fc.tuple(words, lineEnd).map(([word, end]) => Buffer.from(word + end)),
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes.map((byte) => byte || 1))),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.concat(parts))
  .filter((bytes) => !/^(\xff\xfe|\xfe\xff)/.test(bytes.toString('latin1')))

test('every byte that was there stays in front of a new block, which the next run leaves alone', () => {
  fc.assert(
    fc.property(foreign, (bytes) => {
      const written = after(bytes)
      expect(written.subarray(0, bytes.length)).toEqual(bytes)
      expect(bytes.length === 0 || written.at(-1) === 10).toBe(
        bytes.length === 0 || bytes.at(-1) === 10 || isBom(bytes),
      )
      // Fences around it may make it look like an example; then it is not touched either.
      expect(['leave', 'block']).toContain(decide(written).action)
    }),
  )
})
const isBom = (bytes: Buffer): boolean => bytes.toString('hex') === 'efbbbf'

test('every byte outside the markers stays when the block is replaced', () => {
  fc.assert(
    fc.property(foreign, foreign, fc.boolean(), (above, below, crlf) => {
      const block = Buffer.from(blockOf(EARLIER_BODY).replaceAll('\n', crlf ? '\r\n' : '\n'))
      const head = above.length > 0 && above.at(-1) !== 10 ? Buffer.concat([above, Buffer.from('\n')]) : above
      const decision = decide(Buffer.concat([head, block, below]))
      if (decision.action === 'block') return
      expect(decision.action).toBe('update')
      const written = (decision as { after: Buffer }).after
      expect(written.subarray(0, head.length)).toEqual(head)
      expect(written.subarray(written.length - below.length)).toEqual(below)
      const between = written.subarray(head.length, written.length - below.length).toString()
      expect(between.replaceAll('\r\n', '\n')).toBe(blockOf(CURRENT_BODY))
      expect(decide(written)).toEqual({ action: 'leave' })
    }),
  )
})

test('a file of many megabytes is read in moments', () => {
  for (const filling of ['\n', '`', '<!-- BEGIN svc-skill:', '\r\n', ' ', '```\n', `${BEGIN}\n`]) {
    const text = BEGIN + '\n' + filling.repeat(1_000_000 / filling.length) + 'x\n' + END + '\n'
    expect(cpuMs(() => [findBlock(text, 'toy'), decide(text)])).toBeLessThan(1_000)
  }
})
