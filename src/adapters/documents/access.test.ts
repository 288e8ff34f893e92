/** Who sees a document, as people write it: read as it is meant, or told, and never taken for nothing. */
import { expect, test } from 'vitest'
import { accessIn } from './access.ts'
import { readMarkdown } from './markdown.ts'

test.each<[string, readonly string[] | undefined]>([
  ['title: Leave', undefined],
  ['', undefined],
  ['accessibility: high\nno access here', undefined],
  ['{title: Leave, accessible: true}', undefined],
  ['title: "Keys, access: how to"', undefined],
  ['meta: {a: 1}\naccess: group:board', ['group:board']],
  ['access: everyone', ['everyone']],
  ['title: x\naccess: group:board # theirs\nother: y', ['group:board']],
  ['access: [group:board]', ['group:board']],
  ['access: []', []],
  [
    'access: [group:board, "user:Ann@Example.com", \'role:admin\',]',
    ['group:board', 'user:ann@example.com', 'role:admin'],
  ],
  ['access: ["group:Sales, north", group:b b]', ['group:Sales, north', 'group:b b']],
  ['access: [\n  group:board,\n  group:staff\n]\nafter: x', ['group:board', 'group:staff']],
  ['access:\n- group:board\n  # why\n- "group:staff"\nafter:\n- x', ['group:board', 'group:staff']],
  ['access:\n    - everyone', ['everyone']],
  ['access: somebody', ['somebody']],
])('%j says %j', (yaml, access) => {
  expect(accessIn(yaml)).toEqual(access)
})

test.each([
  'access:',
  'access: ',
  'access:\n\nother: x',
  'Access: [group:board]',
  ' access: [group:board]',
  '"access": [group:board]',
  'access:[group:board]',
  '{access: [group:board]}',
  '{title: Leave, "access": [group:board]}',
  '{title: Leave,\n owner: x, access: [group:board]}',
  'title: x\nmeta: {a: {b: 1}, access: group:board}',
  '# why\n{title: Leave,\nowner: x, access: [group:board]}',
  'list: ["a, access: b", {access: group:board}]',
  '? access\n: [group:board]',
  '!!str access: [group:board]',
  '&a access: [group:board]',
  'access : [group:board]',
  'access: [group:board',
  'access: [group:board]]',
  'access: [[group:board]]',
  'access: {group: board}',
  'access: *board',
  'access: &a everyone',
  'access: !!str everyone',
  'access: |\n  everyone',
  'access: "everyone',
  'access: group: board',
  'access: [group:board,,everyone]',
  'access:\n- [everyone]',
  'access: everyone\naccess: group:board',
  `access: [${Array.from({ length: 101 }, (_, at) => `group:g${at}`).join()}]`,
  `access: ${'x'.repeat(301)}`,
])('%j is told', (yaml) => {
  expect(() => accessIn(yaml)).toThrow('nobody sees it')
})

test.each([
  '--- {access: [group:board]}\n---\nText',
  '--- {access: [group:board]}\nText',
  '---\naccess: [group:board]\nText without an end',
  '--- access: group:board\n---\nText',
  '\n---\naccess: group:board\n---\nText',
  '---\ttitle: x\naccess: everyone\n...\nText',
  '\n---\ntitle: X\n\naccess: [group:board]\n---\nSecret',
  ' ---\n\naccess: [group:board]\n---\nSecret',
  ' ---\ntitle: X\n\n access: [group:board]\n ---\nSecret',
  '--- # meta\ntitle: X\n\naccess: [group:board]\n---\nSecret',
  '---\ntitle: X\n\naccess: [group:board]\n\nSecret',
  '---\ntitle: X\n\n# who\naccess:\n- group:board\n\nSecret',
  '---\ntags:\n- a\n\n"title": X\n\naccess: [group:board]\n\nSecret',
  '--- !!map\ntitle: X\n\naccess: [group:board]\n\nSecret',
  '--- {title: X,\n\n access: [group:board]}\nSecret',
  '\n---\nabout: |\n  ---\n\n  text\naccess: [group:board]\n---\nSecret',
  '\n---\nSome words\n\naccess: [group:board]\n---\nSecret',
])('what looks like front matter and names who sees it hides the document: %j', (text) => {
  expect(() => readMarkdown(text)).toThrow('nobody sees it')
})

test.each([
  '---\n\nAccess: see the reception\n',
  '--- a line\n\naccess: as ever\n',
  'Text\n\n---\naccess: as ever\n---\n',
  '\n---\n\nAccess: see the reception\n\n---\n',
  '---\nSome words\n\naccess: as ever\n',
  '\n---\ntitle: X\n\n---\naccess: as ever\n',
])('what does not is text: %j', (text) => {
  expect(readMarkdown(text).access).toBeUndefined()
})
