import { type Board, dashboard } from './board.ts'
import { capacityBoard } from './capacity.ts'
import { costBoard } from './cost.ts'
import { disruptionBoard } from './disruption.ts'
import { lifecyclesBoard } from './lifecycles.ts'
import { temporalBoard } from './temporal.ts'

export const boards: readonly Board[] = [capacityBoard, lifecyclesBoard, disruptionBoard, costBoard, temporalBoard]

/** Returns the files of the chart with what Grafana imports, by path below `deploy/`. */
export function dashboardFiles(): readonly (readonly [path: string, text: string])[] {
  return boards.map((board) => [`chart/dashboards/${board.uid}.json`, `${JSON.stringify(dashboard(board), null, 2)}\n`])
}
