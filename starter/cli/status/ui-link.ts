import { InvalidArgumentError, Option } from 'commander'
import { withoutSweeps } from '../../../core/workflow-queries.ts'
import type { Part } from '../../document/document.ts'

/** The list of Joiner's workflows in the Temporal UI, without its sweeps. */
export interface UiList {
  readonly query: string
  /** Unset when the address of the UI is not known. */
  readonly url?: string
}

/** `--temporal-ui`. */
export function temporalUiOption(): Option {
  return new Option('--temporal-ui <url>', 'address of the Temporal UI, for links to workflows')
    .env('JOINER_TEMPORAL_UI')
    .argParser(uiAddress)
}

function uiAddress(text: string): string {
  // Set to nothing by a chart.
  if (text === '') return ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new InvalidArgumentError('It has to be an address such as https://temporal.example.com.')
  return url.href.replace(/\/+$/, '')
}

/** Returns the list of a cluster's nodes, commands and loops. `ui`: address of the UI. */
export function uiList(
  { namespace, cluster }: { readonly namespace: string; readonly cluster: string },
  ui?: string,
): UiList {
  const query = withoutSweeps(cluster)
  if (!ui) return { query }
  return {
    query,
    url: `${ui}/namespaces/${encodeURIComponent(namespace)}/workflows?query=${encodeURIComponent(query)}`,
  }
}

/** The list in words. */
export function uiListPart({ query, url }: UiList): Part {
  return url === undefined
    ? {
        title: 'in the Temporal UI, nodes, commands and loops without sweeps (--temporal-ui URL makes a link of it):',
        items: [query],
      }
    : { title: 'nodes, commands and loops in the Temporal UI, to save as a view:', items: [url] }
}
