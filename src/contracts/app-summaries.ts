/** Apps at a glance: how each of them stands, in one answer. */
import * as z from 'zod'
import { App } from './apps.ts'
import { CHECK_RESULTS } from './check-results.ts'
import { DEPLOYMENT_STATES } from './deployment-states.ts'
import { Time } from './fields.ts'
import { reading } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

/** Checks of an app in the list, those that do not pass first. */
export const SUMMARY_CHECKS = 4

const DeploymentSummary = z.object({
  id: z.string(),
  revision_id: z.string(),
  state: z.enum(DEPLOYMENT_STATES),
  requested_by: z.string(),
  at: Time.describe('When it ended, or was requested.'),
})

export const summarizeApps = reading({
  service: 'deploy-api',
  name: 'summarizeApps',
  access: 'viewer',
  scope: 'maintenance:read',
  summary: 'List apps with how they stand: what runs, their checks, errors of a day, and what is open.',
  input: z.object({
    search: z.string().trim().max(120).optional().describe('Part of the alias or name.'),
    mine: z.stringbool().default(false).describe('Only apps that you build or maintain.'),
    ...countedPageInput,
  }),
  output: z.object({
    apps: z.array(
      App.extend({
        running: DeploymentSummary.nullable().describe('The last deployment that succeeded.'),
        last_deployment: DeploymentSummary.nullable(),
        checks: z
          .array(
            z.object({
              id: z.string(),
              name: z.string(),
              enabled: z.boolean(),
              state: z.enum(CHECK_RESULTS).nullable(),
              recent: z.array(z.enum(CHECK_RESULTS)).describe('The last results, newest last.'),
            }),
          )
          .describe(`At most ${SUMMARY_CHECKS}, those that do not pass first.`),
        checks_total: z.int(),
        checks_failing: z.int(),
        errors_of_a_day: z
          .int()
          .nullable()
          .describe('Log lines of the last 24 hours, error or fatal; null if you may not read logs.'),
        open_proposals: z.int(),
        open_findings: z.int(),
        finding_id: z
          .string()
          .nullable()
          .describe('The newest that is open or has a proposal; of an incident.'),
      }),
    ),
    ...countedPageOutput,
  }),
  http: { method: 'get', path: '/api/deploy/app-summaries' },
})
