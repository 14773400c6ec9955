/** Where commands hand their JSON to `print`: the beginning of that property in a file below starter/cli. */
export interface JsonAnswer {
  readonly file: string
  readonly text: string
  /** Commands that print the same. */
  readonly also?: readonly string[]
}

/** The JSON of each command, by the words that are typed. */
export const jsonAnswers: Readonly<Record<string, JsonAnswer>> = {
  advise: { file: 'advise/run.ts', text: 'json: advice' },
  budgets: { file: 'budgets/command.ts', text: 'json: budgetsJson' },
  'blocked capacity list': { file: 'capacity/command.ts', text: 'json: shown', also: ['blocked capacity clear'] },
  cost: { file: 'cost/text.ts', text: 'json: costJson' },
  doctor: { file: 'doctor/command.ts', text: 'json: asJson' },
  'history node': {
    file: 'history/run.ts',
    text: 'json: { ...coverageJson(history), lives',
    also: ['history nodepool NAME'],
  },
  'history node NAME': { file: 'history/run.ts', text: 'json: {\n        ...coverageJson(own)' },
  'history nodepool': { file: 'history/run.ts', text: 'json: { ...coverageJson(history), nodePools' },
  'history workload': { file: 'history/run.ts', text: 'json: { ...coverageJson(history), workload' },
  'node list': { file: 'node/run.ts', text: 'json: rows.map' },
  'node show': { file: 'node/run.ts', text: 'json: detailsJson' },
  'node retry': {
    file: 'node/run.ts',
    text: 'json: { nodeClaim',
    also: ['node hold', 'node release', 'node force-finish'],
  },
  apply: { file: 'operate/request-answer.ts', text: 'json = {', also: ['consolidate'] },
  pause: { file: 'operate/pause-command.ts', text: 'json = results', also: ['resume'] },
  plan: { file: 'operate/requests.ts', text: 'json: planJson' },
  'blocked objects list': { file: 'quarantine/command.ts', text: 'json: entries', also: ['blocked objects clear'] },
  'blocked quota': { file: 'quota/command.ts', text: 'json: shown' },
  'history report': { file: 'report/run.ts', text: 'json: reportJson' },
  'instance-types': { file: 'instance-types/run.ts', text: 'json = isForPrograms' },
  'instance-types --excluded': { file: 'instance-types/run.ts', text: 'json: excluded' },
  simulate: { file: 'simulate/result.ts', text: 'ResultJson {' },
  'simulate --explain': { file: 'simulate/simulate.ts', text: 'json: explanation' },
  'simulate --disruption': { file: 'simulate/simulate.ts', text: 'json: result' },
  status: { file: 'status/command.ts', text: 'json = {' },
  top: { file: 'top/command.ts', text: 'json = {' },
  validate: { file: 'validate/validate-files.ts', text: 'json: results' },
  // `why any` prints what one of these three prints.
  'why node': {
    file: 'why/command.ts',
    text: 'json: report, document: () => nodeDocument',
    also: ['why any'],
  },
  'why nodepool': { file: 'why/command.ts', text: 'json: report, document: () => nodePoolDocument' },
  'why pod': { file: 'why/command.ts', text: 'json: report, document: () => podDocument' },
}

/** Returns the name of the file of a schema in docs/reference/json. */
export function schemaFile(command: string): string {
  return `${command.replaceAll(/ (--)?/g, '-')}.json`
}
