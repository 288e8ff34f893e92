import { describe, expect, test } from 'vitest'
import { fillUrlTemplate, urlTemplateProblems } from './url-template.ts'

const COLUMNS = ['id', 'title', 'path', 'year']
const hit = (values: Record<string, unknown>) => ({
  id: (values['id'] ?? '1') as string,
  title: (values['title'] ?? null) as string | null,
  metadata: values,
})
const fill = (template: string, values: Record<string, unknown>) =>
  fillUrlTemplate(template, COLUMNS, hit(values))

describe('a url_template', () => {
  test.each([
    'https://wiki.example.com/{id}',
    'http://wiki.example.com:8080/a?b={title}&c={year}#{id}',
    'https://github.com/org/docs/blob/main/{+path}',
  ])('is taken: %s', (template) => {
    expect(urlTemplateProblems(template, COLUMNS)).toEqual([])
  })

  test.each([
    ['javascript:alert({id})', 'must begin with'],
    ['JaVaScRiPt://x/%0aalert(1)', 'must begin with'],
    ['data:text/html,{id}', 'must begin with'],
    ['//wiki.example.com/{id}', 'must begin with'],
    ['/rows/{id}', 'must begin with'],
    ['https://{id}/', 'host without placeholders'],
    ['https://{id}.example.com/', 'host without placeholders'],
    ['https://wiki.example.com{id}', 'host without placeholders'],
    ['https://wiki.example.com:{id}/', 'host without placeholders'],
    ['https://{id}@wiki.example.com/', 'host without placeholders'],
    ['https://user:secret@wiki.example.com/{id}', 'host without placeholders'],
    ['{id}://wiki.example.com/', 'must begin with'],
    ['https://wiki.example.com/../{id}', 'between its slashes'],
    ['https://wiki.example.com/{secret}', 'names "secret"'],
    ['https://wiki.example.com/{}', 'names ""'],
    ['https://wiki.example.com/{id', 'brace'],
    ['https://wiki.example.com/{{id}}', 'brace'],
  ])('is refused: %s', (template, reason) => {
    expect(urlTemplateProblems(template, COLUMNS).join()).toContain(reason)
  })

  test('is filled with encoded values', () => {
    expect(fill('https://a.example/{id}?t={title}', { id: 'a/b?c#d', title: '"><script>ü' })).toBe(
      'https://a.example/a%2Fb%3Fc%23d?t=%22%3E%3Cscript%3E%C3%BC',
    )
    expect(fill('https://a.example/{+path}#{year}', { path: 'it/lap top.md', year: 2026 })).toBe(
      'https://a.example/it/lap%20top.md#2026',
    )
  })

  test.each([
    { path: '../admin' },
    { path: 'a/../../b' },
    { path: '.' },
    { path: null },
    { path: '' },
    { path: ['a'] },
    { path: '\ud800' },
    { path: 'x'.repeat(3_000) },
  ])('leads nowhere with %j', (values) => {
    expect(fill('https://a.example/{+path}', values)).toBeUndefined()
  })

  test('does not climb by two values side by side', () => {
    expect(fill('https://a.example/x/{id}{year}/y', { id: '.', year: '.' })).toBeUndefined()
  })
})
