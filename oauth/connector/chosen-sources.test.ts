import { expect, test } from 'vitest'
import { chosenSources, sourceFields, type SourceToChoose } from './chosen-sources.ts'

const source = (id: string): SourceToChoose => ({ id, name: id, title: id, limitsRows: false })
const ORGANIZATION = { id: 'org_ours', sources: [source('ds_one'), source('ds_two')] }

/** A form that says which, and some of them. */
function submitted(which: string | undefined, chosen: readonly string[] = [], orgId = ORGANIZATION.id) {
  const fields = sourceFields(orgId)
  const form = new URLSearchParams(chosen.map((id): [string, string] => [fields.source, id]))
  if (which !== undefined) form.set(fields.which, which)
  return form
}
const chosen = (form: URLSearchParams, organization = ORGANIZATION) =>
  chosenSources(form, organization, ['data:read', 'maintenance:read'])

test('all means later ones too, and chosen ones are given in the order of the page', () => {
  expect(chosen(submitted('all', ['ds_one']))).toEqual({ sources: null })
  expect(chosen(submitted('chosen', ['ds_two', 'ds_one', 'ds_two']))).toEqual({
    sources: ['ds_one', 'ds_two'],
  })
  expect(chosen(submitted('chosen', ['ds_two']))).toEqual({ sources: ['ds_two'] })
})

test('where there is none to choose, nothing needs to be said', () => {
  expect(chosen(submitted(undefined), { id: 'org_ours', sources: [] })).toEqual({ sources: null })
})

test('without the scope to read, none is given, whatever the form says', () => {
  for (const which of ['all', 'chosen'])
    expect(chosenSources(submitted(which, ['ds_one']), ORGANIZATION, ['maintenance:read'])).toEqual({
      sources: [],
    })
})

test.each<[string, URLSearchParams, RegExp]>([
  ['says nothing', submitted(undefined, ['ds_one']), /Choose which/],
  ['says something else', submitted('every', ['ds_one']), /Choose which/],
  ['is filled in for another organization', submitted('all', [], 'org_theirs'), /Choose which/],
  ['chooses none', submitted('chosen'), /at least one/],
  ['names one that is not on the page', submitted('chosen', ['ds_one', 'ds_hidden']), /have changed/],
])('a form that %s gives nothing', (_what, form, problem) => {
  expect(chosen(form)).toEqual({ problem: expect.stringMatching(problem) })
})
