import type { Logger } from 'pino'
import { KubernetesClient } from '../activities/kubernetes/client.ts'

/** The client of a process. A right that is missing is logged each time, whatever the caller makes of it. */
export function loadClient(kubeconfig: string | undefined, log: Logger): Promise<KubernetesClient> {
  return KubernetesClient.load(kubeconfig, (reason) =>
    log.error({ reason }, "forbidden by the API server; compare the account's rights with the chart's: joiner doctor"),
  )
}
