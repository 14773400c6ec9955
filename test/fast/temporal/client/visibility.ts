import proto from '@temporalio/proto'
import { valueOf } from '../protocol.ts'
import type { Run, RunStatus } from '../run.ts'

const { WorkflowExecutionStatus } = proto.temporal.api.enums.v1

/** What a list shows of a run: the state of a moment ago. */
export interface ListedRun {
  readonly run: Run
  readonly status: RunStatus
}

const statusNames = {
  running: 'Running',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Canceled',
  continuedAsNew: 'ContinuedAsNew',
  terminated: 'Terminated',
  timedOut: 'TimedOut',
} as const satisfies Record<RunStatus, string>

export const statusOf = {
  running: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING,
  completed: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED,
  failed: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_FAILED,
  cancelled: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CANCELED,
  continuedAsNew: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW,
  terminated: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED,
  timedOut: WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
} as const satisfies Record<RunStatus, number>

type Condition = (listed: ListedRun) => boolean

const tokens = /\s*(\(|\)|,|!=|>=|<=|=|>|<|'(?:[^']|'')*'|[A-Za-z_]+)/y

/** Reads a query of Temporal's list: comparisons with =, !=, >=, <=, IN and STARTS_WITH, joined by AND, OR and parentheses. Errors: what it cannot read. */
export function visibilityQuery(query: string, known: (attribute: string) => boolean): Condition {
  const words = wordsOf(query)
  const next = () => words.shift() ?? ''
  const expect = (word: string) => {
    const found = next()
    if (found.toUpperCase() !== word) throw new Error(`invalid query: "${query}": "${found}" in place of ${word}`)
  }
  const is = (word: string) => words[0]?.toUpperCase() === word
  const any = (): Condition => {
    const parts = [all()]
    while (is('OR')) {
      next()
      parts.push(all())
    }
    return (listed) => parts.some((part) => part(listed))
  }
  const all = (): Condition => {
    const parts = [one()]
    while (is('AND')) {
      next()
      parts.push(one())
    }
    return (listed) => parts.every((part) => part(listed))
  }
  const one = (): Condition => {
    if (is('(')) {
      next()
      const inner = any()
      expect(')')
      return inner
    }
    const attribute = next()
    if (!known(attribute)) throw new Error(`invalid query: column name '${attribute}' is not a valid search attribute`)
    const operator = next().toUpperCase()
    const values = operator === 'IN' ? listOf(next, expect, is) : [textOf(next())]
    return (listed) => compare(attributeOf(listed, attribute), operator, values)
  }
  if (words.length === 0) return () => true
  const condition = any()
  if (words.length > 0) throw new Error(`invalid query: "${query}": "${words.join(' ')}" is left over`)
  return condition
}

function wordsOf(query: string): string[] {
  const words: string[] = []
  tokens.lastIndex = 0
  for (let match = tokens.exec(query); match !== null; match = tokens.exec(query)) words.push(match[1] ?? '')
  if (words.join('').length !== query.replaceAll(/\s+(?=(?:[^']*'[^']*')*[^']*$)/g, '').length)
    throw new Error(`invalid query: "${query}"`)
  return words
}

function listOf(next: () => string, expect: (word: string) => void, is: (word: string) => boolean): readonly string[] {
  expect('(')
  const values = [textOf(next())]
  while (is(',')) {
    next()
    values.push(textOf(next()))
  }
  expect(')')
  return values
}

const textOf = (word: string) => word.replaceAll(/^'|'$/g, '').replaceAll("''", "'")

function attributeOf({ run, status }: ListedRun, name: string): readonly string[] {
  const value = builtIn(run, status, name) ?? valueOf(run.searchAttributes[name])
  return value === undefined || value === null ? [] : [value].flat().map(String)
}

const identityFields = { WorkflowId: 'workflowId', WorkflowType: 'workflowType', TaskQueue: 'taskQueue' } as const

function builtIn(run: Run, status: RunStatus, name: string): string | readonly string[] | undefined {
  switch (name) {
    case 'WorkflowId':
    case 'WorkflowType':
    case 'TaskQueue':
      return run.identity[identityFields[name]]
    case 'ExecutionStatus':
      return statusNames[status]
    case 'TemporalReportedProblems':
      return run.reportedProblems
    case 'StartTime':
      return new Date(run.startedMs).toISOString()
    case 'CloseTime':
      return status === 'running' || run.closedMs === undefined ? undefined : new Date(run.closedMs).toISOString()
    default:
      return undefined
  }
}

function compare(found: readonly string[], operator: string, values: readonly string[]): boolean {
  const [value = ''] = values
  switch (operator) {
    case '=':
    case 'IN':
      return found.some((one) => values.includes(one))
    case '!=':
      return !found.some((one) => values.includes(one))
    case 'STARTS_WITH':
      return found.some((one) => one.startsWith(value))
    case '>=':
      return found.some((one) => one >= value)
    case '<=':
      return found.some((one) => one <= value)
    default:
      throw new Error(`invalid query: operator ${operator} is not simulated`)
  }
}
