/** What compares the commands of a page with what they print. test/long/readme.test.ts runs those of the README. */
import { describe, expect, test } from 'vitest'
import { documentedCommands, missingLines } from '../support/documented-commands.ts'

describe('commands of a page', () => {
  const fence = '```'
  const page = `# Page

## One

${fence}sh
first
second
${fence}

${fence}yaml
answer: 1
${fence}

## Two

1. Do:

   ${fence}sh
   third
   ${fence}
`

  test('are its blocks, in lists too, each with the output that follows', () => {
    expect(documentedCommands(page)).toEqual([
      { section: 'One', command: 'first\nsecond\n', shown: 'answer: 1\n' },
      { section: 'Two', command: 'third\n', shown: undefined },
    ])
  })

  test('output of no command is a mistake', () => {
    expect(() => documentedCommands(`## One\n\n${fence}\nanswer\n${fence}\n`)).toThrow('follows no command')
  })
})

describe('what a page shows', () => {
  test.each([
    ['the same', 'a: 1\nb: 2\n', 'a: 1\nb: 2\n'],
    ['with lines left out', 'a: 1\nc: 3\n', 'a: 1\nb: 2\nc: 3\n'],
    ['with a text left out', 'text: "The beginning …"', 'text: "The beginning and the rest"'],
    ['with another time', 'at: "2026-11-22T03:00:48.780Z"', 'at: "2027-01-02T03:04:05.678Z"'],
    ['with another id', 'id: org_0mwh8z6vdi7sihk624usrwftv', 'id: org_0mwh8z6vdi7sihk624usrwftx'],
    ['with another token', 'echo svc_EaSz7587…', 'echo svc_9aBc'],
    ['with another password', 'Password  83ega-sg6pz-xjtpx-kkwrp', 'Password  aaaaa-bbbbb-ccccc-ddddd'],
    ['with wider columns', 'ID  TITLE', 'ID      TITLE  '],
  ])('is printed: %s', (_how, shown, printed) => {
    expect(missingLines(shown, printed)).toEqual([])
  })

  test.each([
    ['another value', 'a: 1', 'a: 2'],
    ['another order', 'b: 2\na: 1', 'a: 1\nb: 2'],
    ['another depth', '  a: 1', 'a: 1'],
    ['more at the end', 'a: 1', 'a: 12'],
    ['a sign that has a meaning in expressions', 'a.b', 'axb'],
    ['another kind of id', 'id: org_0mwh8z6vdi7sihk624usrwftv', 'id: usr_0mwh8z6vdi7sihk624usrwftv'],
  ])('is missed: %s', (_how, shown, printed) => {
    expect(missingLines(shown, printed)).not.toEqual([])
  })
})
