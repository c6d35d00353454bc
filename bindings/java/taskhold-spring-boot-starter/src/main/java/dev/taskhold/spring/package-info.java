/**
 * Auto-configuration for Spring Boot 3: a store and what is opened over it as beans, set by
 * {@link dev.taskhold.spring.TaskholdProperties}.
 */
@NullMarked
package dev.taskhold.spring;

import org.jspecify.annotations.NullMarked;
