import { expect, test } from 'vitest'
import { escapePart } from '../../../src/client/request-parts.ts'
import { pathPart } from './path-part.ts'

/** The package has no dependencies, so it has its own: it must do as that of our other clients. */
test.each(['shop', '.', '..', '...', 'a/b', '../x', '%2e%2e', 'ä ?#'])(
  '%s is one part of a path',
  (value) => {
    expect(pathPart(value)).toBe(escapePart(value))
    const { pathname } = new URL(`/api/deploy/apps/${pathPart(value)}/pipeline-runs`, 'https://svc.test')
    expect(pathname.split('/')).toHaveLength(6)
  },
)
