/**
 * Maintenance runs as tasks (SEP-2663). The task is the run: its id names the app and the run, so that nothing is kept
 * here, any replica answers, and the gateway decides each time whether this principal may see it.
 */
import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import { appAlias } from '../src/contracts/apps.ts'
import { ServiceError, type ErrorCode } from '../src/contracts/errors.ts'
import { idPattern } from '../src/contracts/ids.ts'
import { showMaintenanceRun } from '../src/contracts/maintenance.ts'
import { textResult } from './call-tool.ts'
import { TASKS_EXTENSION } from './client-abilities.ts'
import { errorText } from './error-text.ts'
import { readAbilities } from './read-abilities.ts'
import type { RequestContext } from './request-context.ts'
import { showWholeRun, taskOf } from './tools/maintenance-runs.ts'

const schemas = { params: z.looseObject({ taskId: z.string().max(200) }), result: z.looseObject({}) }

export function registerTasks({ server }: McpServer, context: RequestContext): void {
  server.setRequestHandler('tasks/get', schemas, async ({ taskId }, { mcpReq }) => {
    const run = await findRun(context, taskId, mcpReq)
    const task = taskOf(run)
    if (task.status !== 'completed') return task
    const isFailed = run.outcome === 'agent_error' || run.outcome === 'unknown'
    const text = JSON.stringify(showWholeRun(run))
    return { ...task, result: { ...textResult(text, true), ...(isFailed && { isError: true }) } }
  })
  // No run asks for input, and none is cancelled by an agent: turning maintenance off ends it. SEP-2663: both are
  // acknowledged, and what became of the task is told by `tasks/get`.
  for (const method of ['tasks/update', 'tasks/cancel']) {
    server.setRequestHandler(method, schemas, async ({ taskId }, { mcpReq }) => {
      await findRun(context, taskId, mcpReq)
      return {}
    })
  }
}

/** Whoever may not see the run gets the answer for one that does not exist. */
async function findRun(context: RequestContext, taskId: string, mcpReq: ServerContext['mcpReq']) {
  if (!readAbilities(mcpReq).hasTasks) {
    throw new MissingRequiredClientCapabilityError({
      requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    })
  }
  const [app = '', runId = '', ...rest] = taskId.split('.')
  const isTask = rest.length === 0 && appAlias.alias.safeParse(app).success && idPattern('exec').test(runId)
  if (!isTask) throw unknownTask()
  try {
    const call = context.call({ signal: mcpReq.signal })
    return await context.inTurn(() => call(showMaintenanceRun, { alias: app, execution_id: runId }))
  } catch (error) {
    const isOurs = error instanceof ServiceError && error.code !== 'UNEXPECTED'
    if (isOurs && HIDDEN.includes(error.code)) throw unknownTask()
    if (!isOurs) context.log.warn('task not read', { request_id: context.requestId, error })
    // Never the text of an exception: a model may read it.
    const known = isOurs ? error : new ServiceError('UNEXPECTED')
    throw new ProtocolError(ProtocolErrorCode.InternalError, errorText(known, undefined))
  }
}

const HIDDEN: readonly ErrorCode[] = ['NOT_FOUND', 'MAINTENANCE_AGENT_NOT_FOUND', 'FORBIDDEN']

const unknownTask = () => new ProtocolError(ProtocolErrorCode.InvalidParams, 'No such task.')
