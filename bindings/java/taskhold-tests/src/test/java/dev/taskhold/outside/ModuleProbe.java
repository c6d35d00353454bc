package dev.taskhold.outside;

import dev.taskhold.TaskManager;
import dev.taskhold.Taskhold;

/** A program outside of the modules: says what it uses. */
public final class ModuleProbe {
    private ModuleProbe() {}

    /**
     * Runs it.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        try (TaskManager tasks = TaskManager.builder().open()) {
            System.out.println(tasks.getClass().getModule() + " " + Taskhold.backend());
        }
    }
}
