import type { Checked } from '../ecosystem/report.ts'
import type { Ran } from './azure-cli.ts'

/** A command of our pages that does not run to its end here. */
export interface RefusedLine {
  /** How it begins. */
  readonly line: string
  /** What the Azure CLI prints. Where it prints something else, or nothing, the proof fails. */
  readonly words: RegExp
  readonly why: string
}

const older = 'Debian has an older Azure CLI than the page demands'
const partial = 'the page names options of a command, not all of it'

export const refusedLines: readonly RefusedLine[] = [
  { line: 'az aks create', words: /unrecognized arguments: --enable-workload-identity/, why: older },
  { line: 'az aks update --name', words: /unrecognized arguments: --node-provisioning-mode/, why: older },
  {
    line: 'az group delete',
    words: /The simulator has no DELETE .*resourcegroups/i,
    why: 'no deletion of a resource group is simulated',
  },
  { line: 'az acr create', words: /The simulator has no PUT .*registries/, why: 'no registries are simulated' },
  {
    line: 'az aks update --resource-group joiner-demo --name my-cluster --attach-acr',
    words: /The simulator has no GET \S+\/resources\./,
    why: 'no registries are simulated',
  },
  { line: 'az acr login', words: /acr_login_server_endpoint/, why: 'no registries are simulated' },
  { line: 'az aks update --network-plugin', words: /arguments are required/, why: partial },
  {
    line: 'az aks nodepool add --enable-cluster-autoscaler',
    words: /arguments are required/,
    why: partial,
  },
  { line: 'az vm update --capacity-reservation-group', words: /are required/, why: partial },
  {
    line: 'az role definition create --role-definition @FILE',
    words: /Failed to parse .*\n@FILE/,
    why: 'FILE stands for a file',
  },
]

/** Returns whether a command ended as it should: well, or refused in the words of its entry. */
export function judged(text: string, { code, output }: Ran): Pick<Checked, 'outcome' | 'isOk'> {
  const refused = refusedLines.find(({ line }) => text.startsWith(line))
  if (refused === undefined) return { isOk: code === 0, outcome: code === 0 ? 'done' : errorIn(output) }
  if (code === 0) return { isOk: false, outcome: 'done: take it out of test/real-clients/refused-lines.ts' }
  const isOk = refused.words.test(output)
  return { isOk, outcome: isOk ? `refused: ${refused.why}` : errorIn(output) }
}

/** Returns the error that the Azure CLI printed, on one line. */
export function errorIn(output: string): string {
  return (/ERROR: .*/.exec(output)?.[0] ?? output.trim().slice(-300)).replaceAll('\n', ' ')
}
