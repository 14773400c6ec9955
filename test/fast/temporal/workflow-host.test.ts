// What `test/fast` takes of the SDK's private parts. They are those of one version: with another, begin here.
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { InternalConnectionLikeSymbol } from '@temporalio/client/lib/types.js'
import { msNumberToTs, optionalTsToMs } from '@temporalio/common/lib/time.js'
import { Activity } from '@temporalio/worker/lib/activity.js'
import { ReusableVMWorkflow, ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js'
import { BaseVMWorkflow, globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js'
import { expect, test } from 'vitest'
import { sdkVersion } from './workflow-tasks.ts'

const folder = fileURLToPath(new URL('../', import.meta.url))
const manifest = createRequire(import.meta.url)('../../../package.json') as {
  readonly dependencies: Readonly<Record<string, string>>
}

test('the private paths are these, of the pinned version', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const paths = files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/from '(@temporalio\/\w+\/lib\/[^']+)'/g)].map(
      ([, path]) => path,
    ),
  )
  expect(new Set(paths)).toEqual(
    new Set([
      '@temporalio/client/lib/types.js',
      '@temporalio/common/lib/time.js',
      '@temporalio/worker/lib/activity.js',
      '@temporalio/worker/lib/workflow/reusable-vm.js',
      '@temporalio/worker/lib/workflow/vm-shared.js',
    ]),
  )
  const versions = Object.entries(manifest.dependencies).filter(([name]) => name.startsWith('@temporalio/'))
  expect([...new Set(versions.map(([, version]) => version))]).toEqual([sdkVersion])
})

test('they are what the simulated server makes of them', () => {
  expect(ReusableVMWorkflowCreator.workflowByRunId).toBeInstanceOf(Map)
  expect(ReusableVMWorkflowCreator).toHaveProperty('unhandledRejectionHandlerHasBeenSet')
  const methods = [
    [ReusableVMWorkflowCreator, 'createWorkflow'],
    [ReusableVMWorkflow, 'activate'],
    [ReusableVMWorkflow, 'getAndResetSinkCalls'],
    [ReusableVMWorkflow, 'dispose'],
    [Activity, 'run'],
  ] as const
  for (const [owner, method] of methods)
    expect(Reflect.get(owner.prototype as object, method), method).toBeTypeOf('function')
  expect(ReusableVMWorkflow.prototype).toBeInstanceOf(BaseVMWorkflow)
  expect(globalHandlers).toHaveProperty('uninstall')
  expect(InternalConnectionLikeSymbol).toBeTypeOf('symbol')
  expect(optionalTsToMs(msNumberToTs(1500))).toBe(1500)
})
