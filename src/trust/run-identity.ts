/**
 * The identity of a maintenance run: what its agent runner shows with every call. It is bound to organization, app,
 * execution and fence, ends with the lease at the latest, and is checked against the lease on every call. What never changes
 * while a run holds its app stands in it as well, so that no call has to ask for it.
 */
import * as z from 'zod'
import { CREDENTIAL_KINDS } from '../contracts/credential-kinds.ts'
import { hs256 } from './hs256.ts'

export type IdentifiedRun = {
  readonly orgId: string
  readonly appId: string
  readonly executionId: string
  readonly fence: number
  readonly baseRevisionId: string | null
  readonly model: string
  readonly startedAt: Date
}

const RUN_IDENTITY_TYPE = CREDENTIAL_KINDS.run_token.type

const Claims = z.object({
  sub: z.string().regex(/^run:exec_[0-9a-z]{25}$/),
  org: z.string(),
  app: z.string(),
  fence: z.int().min(1),
  revision: z.string().nullable(),
  model: z.string(),
  /** In milliseconds. */
  started: z.int().min(0),
})

/** `key`: derived from DATA_KEY for this purpose alone. */
export function runIdentities(key: Uint8Array) {
  const jwt = hs256(key, {
    typ: RUN_IDENTITY_TYPE,
    issuer: 'svc-deploy-api',
    audience: 'svc-maintenance-tools',
  })
  return {
    sign(run: IdentifiedRun, now: Date, leaseSeconds: number): Promise<string> {
      const claims = {
        sub: `run:${run.executionId}`,
        org: run.orgId,
        app: run.appId,
        fence: run.fence,
        revision: run.baseRevisionId,
        model: run.model,
        started: run.startedAt.getTime(),
      }
      return jwt.sign(claims, now, new Date(now.getTime() + leaseSeconds * 1000))
    },
    /** Undefined when it is not valid; whether the run still holds the app only the lease says. */
    async verify(token: string, now: Date): Promise<IdentifiedRun | undefined> {
      const claims = Claims.safeParse(await jwt.verify(token, now))
      if (!claims.success) return undefined
      const { sub, org, app, fence, revision, model, started } = claims.data
      return {
        orgId: org,
        appId: app,
        executionId: sub.slice('run:'.length),
        fence,
        baseRevisionId: revision,
        model,
        startedAt: new Date(started),
      }
    },
  }
}

export type RunIdentities = ReturnType<typeof runIdentities>
