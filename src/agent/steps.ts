/** LangGraph's steps of one run, not seconds: a turn's time is its real limit, this one ends a graph that runs in a circle. */
export const STEPS = 200;

/** So often a model of ours may call tools in a turn. A round is two steps, and the last word must fit behind them. */
export const ROUNDS = 90;
