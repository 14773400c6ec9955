import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { commandLine } from '../../deploy/local/installation.ts'
import { kubeconfig } from '../../deploy/local/kubernetes.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import type { Operator } from '../../deploy/local/operator.ts'

const run = promisify(execFile)

interface Pod {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec: {
    readonly serviceAccountName: string
    readonly containers: readonly { readonly args: readonly string[] }[]
  }
  readonly status: { readonly phase?: string }
}

/** A command that a pod of a Job ran, with what it printed. */
export interface Ran {
  readonly args: readonly string[]
  readonly account: string
  readonly output: string
  readonly succeeded: boolean
}

/**
 * Does what a kubelet would with the pods of the chart's Jobs, since no container runs here: runs the arguments of their container as a process, with a
 * token of their account, and reports the end in the pod's status. The Job controller is the real one.
 */
export class HookPods {
  readonly ran: Ran[] = []
  readonly #cluster: LocalCluster
  readonly #operator: Operator
  readonly #namespace: string
  readonly #seen = new Set<string>()
  #loop: Promise<void> | undefined
  #stopped = false

  constructor(cluster: LocalCluster, operator: Operator, namespace: string) {
    this.#cluster = cluster
    this.#operator = operator
    this.#namespace = namespace
  }

  start(): void {
    this.#loop = this.#poll()
  }

  /** Errors: what went wrong besides the commands themselves. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#loop
  }

  /** Writes a kubeconfig with the rights of an account of the namespace. */
  async kubeconfigOf(account: string): Promise<string> {
    const { status } = await this.#operator.api<{ status: { token: string } }>(
      'POST',
      `/api/v1/namespaces/${this.#namespace}/serviceaccounts/${account}/token`,
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
    )
    const { server, pki, stateDir } = this.#cluster
    const file = join(stateDir, `${account}.kubeconfig`)
    await writeFile(file, kubeconfig({ server, caFile: pki.caFile, user: { token: status.token } }), { mode: 0o600 })
    return file
  }

  async #poll(): Promise<void> {
    for (let polls = 0; !this.#stopped; polls++) {
      const path = `/api/v1/namespaces/${this.#namespace}/pods?labelSelector=app.kubernetes.io/component%3Djoiner-crds`
      const { items } = await this.#operator.api<{ items: readonly Pod[] }>('GET', path)
      for (const pod of items)
        if (pod.status.phase === 'Pending' && !this.#seen.has(pod.metadata.name)) await this.#runPod(pod)
        else if (polls % 20 === 0) await this.#report(pod.metadata.name, { message: `${polls}` })
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  async #runPod({ metadata, spec }: Pod): Promise<void> {
    this.#seen.add(metadata.name)
    const [container] = spec.containers
    const account = spec.serviceAccountName
    const args = container?.args ?? []
    const env = { ...process.env, KUBECONFIG: await this.kubeconfigOf(account) }
    const ended = await run(process.execPath, [commandLine, ...args], { env }).then(
      ({ stdout }) => ({ output: stdout, succeeded: true }),
      (error: unknown) => ({ output: String(error), succeeded: false }),
    )
    this.ran.push({ args, account, ...ended })
    await this.#report(metadata.name, { phase: ended.succeeded ? 'Succeeded' : 'Failed' })
  }

  /** A kubelet goes on to report. The Job controller of 1.36 was seen to miss the end of a pod, and without another change of it looks 4 minutes later. */
  async #report(pod: string, status: { readonly phase?: string; readonly message?: string }): Promise<void> {
    const path = `/api/v1/namespaces/${this.#namespace}/pods/${pod}/status`
    await this.#operator.api('PATCH', path, { status }).catch((error: unknown) => {
      // Its Job is over, and it is gone.
      if (!String(error).includes('404')) throw error
    })
  }
}
