import { AsyncLocalStorage } from 'node:async_hooks'
import { Client, type ConnectionLike } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { callMs, waitMs, withDeadlines } from './deadlines.ts'

beforeAll(() => void vi.useFakeTimers({ now: 1_000_000, toFake: ['Date'] }))
// Another file in this process would have that date.
afterAll(() => void vi.useRealTimers())

/** A connection that notes the time that each call has. */
function connection(name = 'first') {
  const deadlines = new AsyncLocalStorage<number>()
  const calls: string[] = []
  const note = (method: string) => async () => {
    const deadline = deadlines.getStore()
    calls.push(`${name}: ${method} ${deadline === undefined ? 'without end' : deadline - Date.now()}`)
    return {}
  }
  const service = new Proxy({}, { get: (_, method) => note(String(method)) })
  const fake = {
    workflowService: service,
    operatorService: service,
    plugins: [],
    name,
    isOpen: () => name,
    withDeadline: (deadline: number, work: () => Promise<unknown>) => deadlines.run(deadline, work),
  } as unknown as ConnectionLike & { readonly name: string; readonly isOpen: () => string }
  return { fake, calls }
}

describe('a call of Temporal', () => {
  test('has a deadline, whichever it is', async () => {
    const { fake, calls } = connection()
    const limited = withDeadlines(() => fake)
    await limited.workflowService.describeNamespace({ namespace: 'a' })
    await limited.workflowService.signalWorkflowExecution({})
    await limited.workflowService.getWorkflowExecutionHistory({})
    await limited.operatorService.listSearchAttributes({})
    expect(calls).toEqual(
      ['describeNamespace', 'signalWorkflowExecution', 'getWorkflowExecutionHistory', 'listSearchAttributes'].map(
        (method) => `first: ${method} ${callMs}`,
      ),
    )
  })

  test('in which Temporal waits has the time for it', async () => {
    const { fake, calls } = connection()
    const limited = withDeadlines(() => fake)
    await limited.workflowService.getWorkflowExecutionHistory({ waitNewEvent: true })
    await limited.workflowService.updateWorkflowExecution({})
    await limited.workflowService.pollWorkflowExecutionUpdate({})
    expect(calls.map((call) => Number(call.split(' ').at(-1)))).toEqual([waitMs, waitMs, waitMs])
  })

  test("has the caller's deadline where there is one, be it shorter or longer", async () => {
    const { fake, calls } = connection()
    const limited = withDeadlines(() => fake)
    await limited.withDeadline(Date.now() + 5, () => limited.workflowService.getSystemInfo({}))
    await limited.withDeadline(Date.now() + 500_000, async () => {
      await Promise.resolve()
      return limited.workflowService.getSystemInfo({})
    })
    await limited.workflowService.getSystemInfo({})
    expect(calls).toEqual(['first: getSystemInfo 5', 'first: getSystemInfo 500000', `first: getSystemInfo ${callMs}`])
  })

  test('of the library has one as well', async () => {
    const { fake, calls } = connection()
    const client = new Client({ connection: withDeadlines(() => fake), namespace: 'a' })
    const handle = client.workflow.getHandle('x')
    await handle.signal('poke')
    await handle.cancel()
    expect(calls).toEqual([
      `first: signalWorkflowExecution ${callMs}`,
      `first: requestCancelWorkflowExecution ${callMs}`,
    ])
  })

  test('goes to the connection that is in use then', async () => {
    const [first, second] = [connection(), connection('second')]
    let current = first.fake
    const limited = withDeadlines(() => current)
    current = second.fake
    await limited.workflowService.getSystemInfo({})
    expect([first.calls, second.calls]).toEqual([[], [`second: getSystemInfo ${callMs}`]])
    expect([limited.name, limited.isOpen()]).toEqual(['second', 'second'])
  })
})
