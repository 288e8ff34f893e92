/** Managed databases in one of two processes over one Postgres: both serve them alike, and count and lock as one. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { connect, type Connection } from '../../db/connect.ts'
import { lockDataFolder } from '../../db/data-folder-lock.ts'
import { count, eq } from '../../db/drizzle.ts'
import { dataSourceActivity, dataSources, questionCounts } from '../../db/schema.ts'
import { caller, type Call } from '../../src/client/call.ts'
import { overNetwork } from '../../src/client/service.ts'
import { readConfig } from '../../src/config.ts'
import {
  queryDataSource,
  saveSearchConfiguration,
  setDataSourceState,
  setExposure,
} from '../../src/contracts/data-sources.ts'
import { createDatabase, showConnection } from '../../src/contracts/databases.ts'
import { EXPOSED_MAX } from '../../src/contracts/limits.ts'
import { changeRole } from '../../src/contracts/members.ts'
import { atAddress, insertSource } from '../support/data-sources.ts'
import { databaseUrl, onServer } from '../support/database.ts'
import { makeMember, makeOrganization, unique, type Org } from '../support/make.ts'
import { freePort, processes, type Env, type ServerProcess } from '../support/process.ts'
import { freshSecrets, type TestSystem } from '../support/system.ts'
