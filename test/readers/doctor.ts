// `joiner doctor` as an administrator runs it, and its report.

import { azureIds } from '../../deploy/local/cluster.ts'
import type { Status } from '../../starter/cli/doctor/check.ts'
import { type Environment, type Ran, runHere } from './command-line.ts'
import type { Prepared } from './prepared.ts'

export interface Finding {
  readonly name: string
  readonly status: Status
  readonly summary: string
  readonly details: readonly string[]
  readonly remedies: readonly string[]
}

export const nodeGroup = `/subscriptions/${azureIds.subscriptionId}/resourceGroups/${azureIds.nodeResourceGroup}`
export const nodeIdentity = `${nodeGroup}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/agentpool`

/** Runs the command with the settings and the identity of joiner-azure. */
export class Doctor {
  readonly #prepared: () => Prepared

  constructor(prepared: () => Prepared) {
    this.#prepared = prepared
  }

  run(args: readonly string[], settings: Environment = {}): Promise<Ran> {
    const { world, admin } = this.#prepared()
    const own = { NODE_IDENTITIES: nodeIdentity, ...admin, ...settings }
    return runHere(world.installation.processSpec('doctor', own).env as Environment, 'doctor', ...args)
  }

  async examined(settings: Environment = {}) {
    const { code, stdout, stderr } = await this.run(['--output', 'json'], settings)
    if (!stdout.startsWith('{')) throw new Error(`no report: ${stdout}\n${stderr}`)
    const report = JSON.parse(stdout) as { readonly healthy: boolean; readonly checks: readonly Finding[] }
    const of = (name: string): Finding => {
      const found = report.checks.find((check) => check.name === name)
      if (found === undefined) throw new Error(`no check ${name} in ${stdout}`)
      return found
    }
    const bad = report.checks.filter(({ status }) => status !== 'ok').map(({ name }) => name)
    return { code, healthy: report.healthy, of, bad, stdout }
  }

  /** The API server refuses requests for a moment after a CRD has changed. */
  examinedOnceStored() {
    return this.#prepared().world.until("the API server stores the CRD's objects again", async () => {
      const found = await this.examined()
      return found.stdout.includes('storage is (re)initializing') ? undefined : found
    })
  }

  /** Azure is whole again. */
  async heal(): Promise<void> {
    const { operator } = this.#prepared().world
    await operator.simulator('DELETE', '/faults')
    await operator.simulator('POST', '/settings', {
      roles: ['Virtual Machine Contributor', 'Network Contributor', 'Managed Identity Operator'],
      quotas: {},
      network: {},
    })
  }
}
